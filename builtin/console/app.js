// The page holds no rule of its own: it shows what the server sends, as text, and sends back what was pressed.
const state = document.querySelector('#state')
const list = document.querySelector('#list')
const row = document.querySelector('#row')
let session = null

async function ask(path, body) {
  const answer = await fetch(`/console/${path}`, {
    method: 'POST',
    headers: {
      'Content-Type': 'application/json',
      ...(session === null ? {} : { Authorization: `Bearer ${session}` }),
    },
    body: JSON.stringify(body),
  })
  return { isIn: answer.status !== 401, ...(await answer.json()) }
}

function show(text) {
  state.textContent = text
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
      for (const other of article.querySelectorAll('button')) other.disabled = true
      const reason = article.querySelector('input').value
      const { error, message } = await ask('decide', { id, decision: button.value, reason })
      end.textContent = error ?? message
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
  if (approvals === undefined) return show(error)
  const known = new Set([...list.children].map(({ dataset }) => dataset.id))
  for (const approval of approvals) if (!known.has(approval.id)) list.append(toRow(approval))
  show(approvals.length === 0 ? 'Nothing waits.' : `${approvals.length} waiting`)
  setTimeout(refresh, 2000)
}

const code = location.hash.slice(1)
// The code must not stay in the history.
history.replaceState(null, '', location.pathname)
const entered = await ask('enter', { code })
session = entered.session ?? null
await refresh()
