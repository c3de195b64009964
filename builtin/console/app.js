// The page holds no rule of its own: it shows what the server sends, as text, and sends back what was pressed.
const state = document.querySelector('#state')
const list = document.querySelector('#list')
const row = document.querySelector('#row')
let session = null
/** As many as the server shows at once. */
const MOST_SHOWN = 50

async function ask(path, body) {
  try {
    const answer = await fetch(`/console/${path}`, {
      method: 'POST',
      headers: {
        'Content-Type': 'application/json',
        ...(session === null ? {} : { Authorization: `Bearer ${session}` }),
      },
      body: JSON.stringify(body),
    })
    return { isIn: answer.status !== 401, ...(await answer.json()) }
  } catch {
    return { isIn: true, error: 'Kiwi does not answer: see whether "kiwi serve" still runs.' }
  }
}

function show(text) {
  state.textContent = text
}

function close(article, isClosed) {
  for (const button of article.querySelectorAll('button')) button.disabled = isClosed
}

/** Answered elsewhere, or too late: nothing here is left to press. */
function endOthers(waiting) {
  for (const article of list.children) {
    const end = article.querySelector('.end')
    if (waiting.has(article.dataset.id) || article.querySelector('button').disabled) continue
    close(article, true)
    end.textContent = 'It no longer waits: it was answered elsewhere, or nobody answered in time.'
  }
}

function toRow({ id, title, who, text, rule }) {
  const part = row.content.cloneNode(true)
  const article = part.querySelector('article')
  const end = part.querySelector('.end')
  article.dataset.id = id
  part.querySelector('h2').textContent = title
  part.querySelector('.who').textContent = who
  part.querySelector('pre').textContent = text
  part.querySelector('.rule').textContent = rule
  for (const button of part.querySelectorAll('button')) {
    button.addEventListener('click', async () => {
      close(article, true)
      const reason = article.querySelector('input').value
      const { error, message } = await ask('decide', { id, decision: button.value, reason })
      end.textContent = error ?? message
      // What did not arrive can be said again.
      if (error !== undefined) close(article, false)
    })
  }
  return part
}

async function refresh() {
  const { approvals, isIn, error } = await ask('approvals', {})
  if (!isIn)
    return show(
      `This link was used or is too old: run "kiwi approvals --link --port ${location.port}" for a new one.`,
    )
  setTimeout(refresh, 2000)
  if (approvals === undefined) return show(error)
  const known = new Set([...list.children].map(({ dataset }) => dataset.id))
  for (const approval of approvals) if (!known.has(approval.id)) list.append(toRow(approval))
  // Of more than the server shows at once, what is not among them may wait all the same.
  if (approvals.length < MOST_SHOWN) endOthers(new Set(approvals.map(({ id }) => id)))
  show(approvals.length === 0 ? 'Nothing waits.' : `${approvals.length} waiting`)
}

const code = location.hash.slice(1)
// The code must not stay in the history.
history.replaceState(null, '', location.pathname)
const entered = await ask('enter', { code })
session = entered.session ?? null
await refresh()
