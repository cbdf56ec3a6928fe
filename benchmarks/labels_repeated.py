"""Labelled collections in which texts are repeated: what ``tune`` states of pairs is compared with their labels.

Synthetic but for ``titles`` and ``verses``. ``reviews`` and ``tickets`` were made after ``tune`` was finished, so
nothing was chosen on them. Each function takes the folder of the project's public data sets.
"""

from __future__ import annotations

import random
import re
from pathlib import Path
from typing import Any

import labels_data as data
from labels_data import Collection, View, numbered, pairs_within, records_of


def sentences(folder: Path, first: int, last: int, least: int, most: int) -> list[str]:
    """Return the sentences of some abstracts that have between ``least`` and ``most`` characters."""
    records = records_of(folder / "arxiv_10k/abstracts.jsonl.gz")[first:last]
    found = (each for r in records for each in re.split(r"(?<=[.]) ", r["text"].replace("\n", " ")))
    return [each for each in found if least < len(each) < most]


def of_groups(name: str, texts: list[str], groups: list[Any], kind: str = "x") -> Collection:
    """Return a collection in which the texts of one group are duplicates of each other."""
    return Collection(name, kind, "synthetic", texts, (View(name, pairs_within(groups), numbered(groups)),))


def listings(folder: Path) -> Collection:
    """Shop offers: each product offered under few wordings, many times each; other sizes of it are other products."""
    rng = random.Random("listings")
    nouns = "kettle lamp chair desk router cable charger speaker monitor blender drill saw pump heater fan tent".split()  # noqa: SIM905
    brands = [
        b + s for b in ("Nor", "Alt", "Vel", "Kor", "Bri", "Sol", "Tam", "Ust") for s in ("dex", "ium", "ano", "ex")
    ]
    adjs = "compact wireless portable folding steel heavy quiet mini smart foldable electric outdoor".split()  # noqa: SIM905
    tail = ["free shipping", "new in box", "two year warranty", "fast delivery from stock", "original packaging"]
    texts: list[str] = []
    groups: list[Any] = []
    for i in range(125):
        brand, noun, a = (rng.choice(brands), rng.choice(nouns), rng.sample(adjs, 3))
        model = f"{rng.choice('ABCDEF')}{rng.randrange(100, 999)}"
        for _ in range(rng.randrange(1, 6)):
            size = f"{rng.choice([5, 8, 10, 12, 16, 20, 32, 64, 128, 256])}{rng.choice(['cm', 'GB', 'W', 'L'])}"
            base = f"{brand} {model} {' '.join(a)} {noun} {size}"
            for w in range(rng.randrange(1, 4)):
                words = base.split()
                if w:
                    rng.shuffle(words) if rng.random() < 0.3 else None
                text = " ".join(words) + (", " + rng.choice(tail) if w or rng.random() < 0.5 else "")
                if w == 2:
                    text = text.upper()
                for _ in range(min(40, int(rng.paretovariate(1.0)))):
                    texts.append(text)
                    groups.append((i, size))
    return of_groups(name="listings", texts=texts, groups=groups)


def titles(folder: Path) -> Collection:
    """Titles of papers in two versions, which change by a word or not at all."""
    recs = records_of(folder / "arxiv_revisions/abstracts.jsonl.gz")
    return of_groups(
        "arxiv_titles", [r["text"].split("\n")[0] for r in recs][:5000], [r["cluster"] for r in recs][:5000]
    )


def verses(folder: Path) -> Collection:
    """First sentences of Bible chapters: many versions say the same, word for word."""
    recs = records_of(folder / "bible_nt/chapters.jsonl.gz")
    return of_groups("bible_openings", [r["text"][:120] for r in recs], [r["cluster"] for r in recs])


def notices(folder: Path) -> Collection:
    """Messages of a server: template with values; same template and same host is a duplicate. Copies are frequent."""
    rng = random.Random("notices")
    base = [t["text"] for t in records_of(folder / "arxiv_10k/abstracts.jsonl.gz")[3000:3060]]
    texts: list[str] = []
    groups: list[Any] = []
    for i, abstract in enumerate(base):
        words = abstract.split()[:14]
        for _ in range(rng.randrange(2, 7)):
            name = f"host{rng.randrange(1000)}"
            for level in range(rng.randrange(1, 4)):
                own = words[:]
                if level:
                    own[rng.randrange(len(own))] = rng.choice(words)
                t = f"{name}: " + " ".join(own)
                for _ in range(rng.choice([1, 1, 2, 3, 8, 20])):
                    texts.append(t)
                    groups.append((i, name))
    return of_groups("notices", texts, groups)


def footers(folder: Path) -> Collection:
    """Short letters under one of few footers: the footer alone makes a low zone of false pairs."""
    rng = random.Random("footers")
    sents = sentences(folder, 4000, 5200, 60, 200)
    foots = [" ".join(rng.sample(sents, 2)) for _ in range(25)]
    texts: list[str] = []
    groups: list[Any] = []
    for i in range(900):
        body = [rng.choice(sents) for _ in range(rng.randrange(2, 4))]
        foot = rng.choice(foots)
        for v in range(rng.choice([1, 1, 2, 3])):
            own = list(body)
            if v:
                own[rng.randrange(len(own))] = rng.choice(sents) if rng.random() < 0.5 else own[0]
            texts.append(" ".join(own) + " " + foot)
            groups.append(i)
    return of_groups("footers", texts, groups)


def newsquotes(folder: Path) -> Collection:
    """Newsgroup posts halved and quoted: part of texts reposted with changes."""
    rng = random.Random("quotes")
    recs = records_of(folder / "newsgroups/messages.jsonl.gz")
    seen, texts, groups = (set(), [], [])
    for i, r in enumerate(recs[:4000]):
        t = r["text"]
        if len(t) < 300 or t[:200] in seen:
            continue
        seen.add(t[:200])
        if len(seen) > 1200:
            break
        texts.append(t)
        groups.append(i)
        if rng.random() < 0.35:
            lines = t.split("\n")
            drop = rng.choice([0.05, 0.2, 0.4])
            texts.append(
                "\n".join(("> " if rng.random() < 0.5 else "") + line for line in lines if rng.random() > drop)
            )
            groups.append(i)
    return of_groups("newsquotes", texts, groups)


def dblp_zipf(folder: Path) -> Collection:
    """dblp_acm, all pairs judged, records repeated as a log would."""
    rng = random.Random("zipf")
    recs = records_of(folder / "records/dblp_acm.records.jsonl.gz")
    row = {r["id"]: i for i, r in enumerate(recs)}
    truth = data.listed(recs, folder / "records/dblp_acm.pairs.csv")
    root = data.joined(len(recs), truth)
    texts: list[str] = []
    groups: list[Any] = []
    for r in recs[:1200] + recs[-1200:]:
        at = row[r["id"]]
        for _ in range(min(30, int(rng.paretovariate(1.2)))):
            texts.append(r["text"])
            groups.append(int(root[at]))
    return of_groups("dblp_zipf", texts, groups)


def leaflets(folder: Path, seed: str = "leaflets") -> Collection:
    """Editions of leaflets: most are nearly equal; siblings share two thirds of the text, one in five a duplicate."""
    rng = random.Random(seed)
    vocab = sorted(
        {
            w
            for r in records_of(folder / "arxiv_10k/abstracts.jsonl.gz")[6000:6400]
            for w in re.findall("[a-z]+", r["text"])
        }
    )
    texts: list[str] = []
    groups: list[Any] = []
    g = 0

    def edit(words, rate):
        return [rng.choice(vocab) if rng.random() < rate else w for w in words]

    for _ in range(260):
        base = [rng.choice(vocab) for _ in range(50)]
        g += 1
        own = g
        for _ in range(rng.choice([2, 2, 3, 4])):
            texts.append(" ".join(edit(base, rng.choice([0, 0.01, 0.02, 0.03]))))
            groups.append(own)
        if rng.random() < 0.6:
            cut = rng.randrange(20)
            sib = base[:]
            n = rng.randrange(14, 22)
            sib[cut : cut + n] = [rng.choice(vocab) for _ in range(n)]
            if rng.random() < 0.8:
                g += 1
                own = g
            for _ in range(rng.choice([1, 1, 2])):
                texts.append(" ".join(edit(sib, 0.01)))
                groups.append(own)
    return of_groups("leaflets", texts, groups)


def leaflet_copies(folder: Path) -> Collection:
    """Leaflets, each printed text many times."""
    own = leaflets(folder, "copies")
    rng = random.Random("prints")
    texts: list[str] = []
    groups: list[Any] = []
    for t, g in zip(own.texts, own.views[0].unit.tolist(), strict=True):
        for _ in range(min(60, int(rng.paretovariate(0.9)))):
            texts.append(t)
            groups.append(g)
    return of_groups("leaflet_copies", texts, groups)


def reviews(folder: Path) -> Collection:
    """Korean reviews: some posted again by many accounts, some of them with edits, some about another film."""
    rng = random.Random("reviews")
    base = [r["text"] for r in records_of(folder / "multilingual/korean_reviews.jsonl.gz") if len(r["text"]) > 15][
        :1200
    ]
    texts: list[str] = []
    groups: list[Any] = []
    for i, t in enumerate(base):
        for _ in range(min(25, int(rng.paretovariate(1.1)))):
            texts.append(t)
            groups.append(i)
        if rng.random() < 0.4:
            for _ in range(rng.randrange(1, 3)):
                own = list(t)
                for _ in range(max(1, int(len(t) * rng.choice([0.05, 0.15, 0.3])))):
                    own[rng.randrange(len(own))] = rng.choice(rng.choice(base))
                for _ in range(min(25, int(rng.paretovariate(1.1)))):
                    texts.append("".join(own))
                    groups.append(i)
        if rng.random() < 0.25:
            o = rng.choice(base)
            texts.append(t[: len(t) * 6 // 10] + o[len(o) // 2 :])
            groups.append(-len(texts))
    return of_groups("reviews", texts, groups, "unsegmented")


def tickets(folder: Path) -> Collection:
    """Tickets under one of few long forms; a follow-up repeats most sentences; the form alone is no duplicate."""
    rng = random.Random("tickets")
    sents = sentences(folder, 7000, 7900, 50, 180)
    forms = [rng.sample(sents, 3) for _ in range(12)]
    texts: list[str] = []
    groups: list[Any] = []
    for i in range(500):
        f, body = (rng.choice(forms), rng.sample(sents, 3))
        for v in range(rng.choice([1, 1, 2, 3])):
            own = body[:]
            if v == 1:
                own[rng.randrange(3)] = rng.choice(sents)
            if v == 2:
                own = own[::-1]
            t = f[0] + " " + " ".join(own) + " " + f[1]
            for _ in range(rng.choice([1, 1, 1, 2, 6])):
                texts.append(t)
                groups.append(i)
    return of_groups("tickets", texts, groups)


def repeated(folder: Path) -> list[Collection]:
    """Return all of them."""
    made = (
        leaflets,
        leaflet_copies,
        listings,
        titles,
        verses,
        notices,
        footers,
        newsquotes,
        dblp_zipf,
        reviews,
        tickets,
    )
    return [make(folder) for make in made]
