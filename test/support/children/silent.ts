/** A child program that runs and never says a word. */
process.stdin.resume();
setInterval(() => undefined, 60_000);
