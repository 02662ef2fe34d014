/**
 * Stands in for can-utils and gpiod on a machine that has neither a CAN interface nor a GPIO chip: programs of the same
 * names that take the same options, say the same lines and refuse as those do. Bus and lines are files of a folder.
 */
import {
  appendFileSync,
  chmodSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';

/** Skips options; what remains are lines, `inverted` tells of --active-low. */
const OPTIONS = String.raw`
D="${'$'}{0%/*}"
echo "$*" >> "$D/${'$'}{0##*/}.calls"
inverted=0
while [ $# -gt 0 ]; do
  case "$1" in
    --active-low) inverted=1; shift ;;
    --chip) chip="$2"; shift 2 ;;
    --format|--bias|--debounce-period) shift 2 ;;
    --numeric|--banner|--as-is) shift ;;
    --*) echo "${'$'}{0##*/}: unrecognized option '$1'" >&2; exit 1 ;;
    *) break ;;
  esac
done
refuse_held() {
  if [ -e "$D/holder-$1" ] && kill -0 "$(/usr/bin/cat "$D/holder-$1")" 2>/dev/null; then
    echo "${'$'}{0##*/}: unable to request lines on chip $chip: Device or resource busy" >&2; exit 1
  fi
}
if [ -e "$D/stuck" ] && [ "${'$'}{0##*/}" != gpioget ]; then exec /usr/bin/sleep 600; fi
if [ -e "$D/no-chip" ]; then
  echo "${'$'}{0##*/}: cannot find GPIO chip character device '$chip'" >&2; exit 1
fi
`;

const PROGRAMS = {
  candump: String.raw`
D="${'$'}{0%/*}"
if [ -e "$D/down" ]; then echo "read: Network is down" >&2; exit 1; fi
exec /usr/bin/tail -n +1 -s 0.01 -f "$D/bus"`,
  canplayer: String.raw`
D="${'$'}{0%/*}"
echo "$*" >> "$D/canplayer.calls"
if [ -e "$D/down" ]; then echo "sendto: No buffer space available" >&2; exit 1; fi
room=$(/usr/bin/cat "$D/room" 2>/dev/null || echo 1000)
while read -r time name frame; do
  if [ "$room" = 0 ]; then echo "sendto: No buffer space available" >&2; exit 1; fi
  room=$((room - 1))
  echo "$time $name $frame" >> "$D/sent"
  echo "$name ($name)  $frame"
done`,
  gpioget: `${OPTIONS}${String.raw`
levels=""
for line in "$@"; do
  refuse_held "$line"
  level=$(/usr/bin/cat "$D/level-$line" 2>/dev/null || echo 0)
  [ $inverted = 1 ] && level=$((1 - level))
  levels="$levels $level"
done
echo $levels`}`,
  gpiomon: `${OPTIONS}${String.raw`
for line in "$@"; do refuse_held "$line"; echo $$ > "$D/holder-$line"; done
echo "Monitoring lines..."
exec /usr/bin/tail -n +1 -s 0.01 -f "$D/edges"`}`,
  gpioset: `${OPTIONS}${String.raw`
line="${'$'}{1%%=*}"; level="${'$'}{1##*=}"
refuse_held "$line"
[ $inverted = 1 ] && level=$((1 - level))
echo $level > "$D/level-$line"
echo $$ > "$D/holder-$line"
echo "Setting line '$line'..."
exec /usr/bin/sleep 600`}`,
};

export class IoStandIn {
  readonly folder: string;

  constructor(t: TestContext) {
    this.folder = mkdtempSync(join(tmpdir(), 'io-'));
    t.after(() => rmSync(this.folder, { recursive: true, force: true }));
    for (const [name, text] of Object.entries(PROGRAMS)) {
      writeFileSync(this.#file(name), `#!/bin/sh\n${text}\n`);
      chmodSync(this.#file(name), 0o755);
    }
    for (const name of ['bus', 'edges']) writeFileSync(this.#file(name), '');
  }

  /** Somebody else on the bus sends: `123#DEADBEEF`, as candump writes it. */
  frame(text: string): void {
    appendFileSync(this.#file('bus'), `(1700000000.000001) can0 ${text}\n`);
  }

  /** The interface takes so many frames of each program that sends. */
  room(frames: number): void {
    writeFileSync(this.#file('room'), `${frames}\n`);
  }

  /** Lines that were sent, as canplayer reads them. */
  get sent(): string[] {
    return this.#lines('sent');
  }

  /** The level of a line of the chip, of an output as of an input. */
  level(line: number): string {
    return this.#lines(`level-${line}`)[0] ?? '0';
  }

  /** A level before anybody watches. */
  rest(line: number, level: 0 | 1): void {
    writeFileSync(this.#file(`level-${line}`), `${level}\n`);
  }

  /** The line changes while it is watched. */
  edge(line: number, level: 0 | 1): void {
    this.rest(line, level);
    appendFileSync(this.#file('edges'), `${line} ${level === 1 ? 1 : 2}\n`);
  }

  /** Options of each call of the program. */
  calls(program: keyof typeof PROGRAMS): string[] {
    return this.#lines(`${program}.calls`);
  }

  /** Process id of whoever holds the line. */
  holder(line: number): number {
    return Number(this.#lines(`holder-${line}`)[0]);
  }

  /** `down`: the interface; `no-chip`: the chip is not there; `stuck`: it does not answer whoever wants its lines. */
  fail(what: 'down' | 'no-chip' | 'stuck'): void {
    writeFileSync(this.#file(what), '');
  }

  mend(what: 'down' | 'no-chip' | 'stuck'): void {
    rmSync(this.#file(what));
  }

  /** As on a system without the package. */
  uninstall(program: keyof typeof PROGRAMS): void {
    rmSync(this.#file(program));
  }

  #file(name: string): string {
    return join(this.folder, name);
  }

  #lines(name: string): string[] {
    const file = this.#file(name);
    if (!existsSync(file)) return [];
    return readFileSync(file, 'utf8')
      .split('\n')
      .filter((line) => line !== '');
  }
}
