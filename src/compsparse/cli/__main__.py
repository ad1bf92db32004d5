from compsparse.cli.app import main

main()
