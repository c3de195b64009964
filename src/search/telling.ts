/** Words of English that hold a sentence or a question together and say nothing about a tool. */
const STOP_WORDS = new Set(
  `a about above after again all also am an and any are as at be because been before being below between both but by can
could did do does doing down during each few for from further get give had has have having he help her here him his how i
id if im in into is it its ive just know let like looking ll may me might more most must my need no nor not of off on once
only or other our out over own please provide re s same shall she should show so some such t tell than that the their them
then there they this those through to too under until up us use used using ve very want was we were what when where which
while who whom whose why will with would you your`.split(/\s+/),
)

/** Whether a word, in lower case, says something about what is looked for. */
export function isTelling(word: string): boolean {
  return !STOP_WORDS.has(word)
}
