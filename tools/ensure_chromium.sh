#!/bin/sh
# The browser tests drive Debian's chromium. Installs it where that is possible; otherwise those tests
# are skipped and say so.
for name in chromium chromium-browser google-chrome; do
  if command -v "$name" >/dev/null 2>&1; then exit 0; fi
done
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
  echo "installing chromium for the browser tests"
  { apt-get update -qq && apt-get install -y -qq chromium; } >/dev/null 2>&1 ||
    echo "chromium could not be installed: browser tests will be skipped"
else
  echo "no chromium found: browser tests will be skipped (install the package 'chromium' to run them)"
fi
exit 0
