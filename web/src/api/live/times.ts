/** Times in milliseconds. The service sends a comment every 15 s. */
export const liveTimes = {
  open: 10_000, // until the first byte of a stream
  silence: 35_000, // without a byte: two missed comments
  trial: 20_000, // the same, while a stream that failed before has to prove itself
  stable: 10_000, // a stream that lived so long counts as a success
  firstRetry: 1_000,
  lastRetry: 30_000,
  poll: 5_000,
  streamAgain: 60_000, // between attempts while polling
  overlap: 60_000, // how far events of several managers may be out of order
};

/** Failed attempts in a row after which polling begins. */
export const attempts = 2;

/** Milliseconds before the next attempt after n failures (n from 1): 1, 2, 4 … 30 s, of which a random half is left out. */
export function backOff(n: number, random = Math.random): number {
  return Math.min(liveTimes.firstRetry * 2 ** (n - 1), liveTimes.lastRetry) * (1 - random() / 2);
}
