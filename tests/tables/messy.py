"""A table as a test rig exports it: everything that people's files have, made by a script."""

import gzip
from pathlib import Path

import numpy as np
import pandas

TARGET = "Leistung [kW]"
N_SITES = 80


def messy_frame(n: int = 420, seed: int = 0) -> pandas.DataFrame:
    """What was measured, as numbers, texts and dates; the power depends on load, temperature, site and hour."""
    rng = np.random.default_rng(seed)
    load, heat = rng.uniform(0, 100, n), rng.normal(20, 5, n)
    site = rng.integers(0, N_SITES, n)
    effect = np.random.default_rng(1).normal(0, 2, N_SITES)
    when = pandas.Timestamp("2024-01-03 06:00") + pandas.to_timedelta(rng.integers(0, 500 * 24 * 60, n), "min")
    hour = when.hour + when.minute / 60
    power = 3 + 0.05 * load + np.tanh((heat - 20) / 4) + effect[site] + np.sin(hour * np.pi / 12)
    return pandas.DataFrame(
        {
            "Lfd. Nr.": np.arange(1, n + 1),
            "Prüfling": [f"P-{k:06}" for k in rng.permutation(10**6)[:n]],
            "Zeit": when,
            "Last": load,
            "Temperatur": np.where(rng.random(n) < 0.08, np.nan, heat),
            "Kopie": load,
            "Preis": rng.uniform(900, 3000, n),
            "Standort": [f"Ort {k:02}" for k in site],
            "Werk": rng.choice(["Süd", "Nord", "Köln"], n),
            "Code": rng.choice(["01", "1", "007"], n),
            "läuft": rng.choice([True, False], n),
            "Version": "v2",
            "Bemerkung": np.where(rng.random(n) < 0.03, [f"siehe {k}" for k in range(n)], ""),
            TARGET: np.where(rng.random(n) < 0.02, np.nan, power + 0.1 * rng.normal(size=n)),
        }
    )


def german(frame: pandas.DataFrame) -> pandas.DataFrame:
    """The cells as texts: decimal commas, thousands, percent, euros, days before months, words for what is missing."""

    def number(value: float, word: str = "") -> str:
        return word if np.isnan(value) else f"{value:.3f}".replace(".", ",")

    texts = frame.astype(object).copy()
    texts["Zeit"] = [when.strftime("%d.%m.%Y %H:%M") for when in frame["Zeit"]]
    texts["Last"] = [f"{number(value)} %" for value in frame["Last"]]
    texts["Kopie"] = [number(value) for value in frame["Last"]]
    texts["Temperatur"] = [number(value, "n/a") for value in frame["Temperatur"]]
    texts["Preis"] = [f"{value:,.2f} €".translate(str.maketrans(",.", ".,")) for value in frame["Preis"]]
    texts["läuft"] = ["ja" if value else "nein" for value in frame["läuft"]]
    texts[TARGET] = [number(value, "-") for value in frame[TARGET]]
    return texts


def write_messy(path: Path, encoding: str = "cp1252", **settings: int) -> pandas.DataFrame:
    """Writes the table as German software does, packed where the name says so, and returns what was measured."""
    frame = messy_frame(**settings)
    lines = german(frame).to_csv(sep=";", index=False).encode(encoding)
    path.write_bytes(gzip.compress(lines) if path.suffix == ".gz" else lines)
    return frame
