/** Draws what happened in a simulated house, so that people can look at it: power above, everything else below. */
import type { House } from './simulated-gateway.ts';

/** By `device.attribute`: one number for each step. */
export type Trace = ReadonlyMap<string, readonly number[]>;

/** Notes all numbers of a house while it is used. */
export function traced(house: House): Map<string, number[]> {
  const trace = new Map<string, number[]>();
  const step = house.step.bind(house);
  house.step = () => {
    const values = step();
    for (const [name, value] of values ?? [])
      if (typeof value === 'number') {
        const list = trace.get(name) ?? [];
        list.push(value);
        trace.set(name, list);
      }
    return values;
  };
  return trace;
}

const [WIDTH, LEFT, RIGHT] = [960, 60, 150];
const PANELS = [
  { top: 40, height: 230, isPower: true },
  { top: 300, height: 130, isPower: false },
] as const;
/** The same in every house; the others follow in this order. */
const KNOWN: Readonly<Record<string, string>> = {
  'meter.power': '#57606a',
  'sun.power': '#d4a72c',
  'house.power': '#1f6feb',
};
const COLOURS = ['#2da44e', '#cf222e', '#8250df', '#bc4c00'];
const POINTS = 288;

/** The first day of a trace, or all of it when it is shorter. */
export function plotOf(title: string, trace: Trace, stepS: number): string {
  const steps = Math.min(86_400 / stepS, Math.max(...[...trace.values()].map(({ length }) => length)));
  const hours = (steps * stepS) / 3_600;
  const lines = [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} 460" font-family="sans-serif" font-size="11">`,
    `<rect width="${WIDTH}" height="460" fill="#fff"/>`,
    `<text x="${LEFT}" y="24" font-size="14" fill="#111">${title}</text>`,
  ];
  for (const panel of PANELS) {
    const series = [...trace].filter(([name]) => name.endsWith('.power') === panel.isPower);
    if (series.length > 0) lines.push(...panelOf(panel, series, { steps, hours }));
  }
  return [...lines, '</svg>', ''].join('\n');
}

function panelOf(
  { top, height, isPower }: (typeof PANELS)[number],
  series: readonly (readonly [string, readonly number[]])[],
  { steps, hours }: { steps: number; hours: number },
): string[] {
  const means = series.map(([, values]) => meansOf(values.slice(0, steps)));
  const low = Math.min(0, ...means.flat());
  const high = Math.max(1, ...means.flat());
  const x = (share: number): string => (LEFT + share * (WIDTH - LEFT - RIGHT)).toFixed(1);
  const y = (value: number): string => (top + height * (1 - (value - low) / (high - low))).toFixed(1);
  const others = series.map(([name]) => name).filter((name) => !KNOWN[name]);
  const lines: string[] = [];
  for (const value of ticksOf(low, high))
    lines.push(
      `<line x1="${LEFT}" x2="${WIDTH - RIGHT}" y1="${y(value)}" y2="${y(value)}" stroke="${value === 0 ? '#888' : '#e5e5e5'}"/>`,
      `<text x="${LEFT - 6}" y="${y(value)}" dy="4" text-anchor="end" fill="#555">${isPower ? `${value / 1_000} kW` : value}</text>`,
    );
  for (let part = 0; part <= 8; part++)
    lines.push(
      `<text x="${x(part / 8)}" y="${top + height + 16}" text-anchor="middle" fill="#555">${Number(((hours * part) / 8).toFixed(2))} h</text>`,
    );
  for (const [index, values] of means.entries()) {
    const name = series[index]?.[0] ?? '';
    const colour = KNOWN[name] ?? COLOURS[others.indexOf(name) % COLOURS.length];
    const points = values.map((value, point) => `${x((point + 0.5) / values.length)},${y(value)}`);
    lines.push(
      `<polyline points="${points.join(' ')}" fill="none" stroke="${colour}" stroke-width="1.5"/>`,
      `<text x="${WIDTH - RIGHT + 10}" y="${top + 12 + 16 * index}" fill="${colour}">${name.replace(/[._]/g, ' ')}</text>`,
    );
  }
  return lines;
}

function meansOf(values: readonly number[]): number[] {
  const points = Math.min(POINTS, values.length);
  return Array.from({ length: points }, (_, point) => {
    const part = values.slice(
      Math.floor((point * values.length) / points),
      Math.floor(((point + 1) * values.length) / points),
    );
    return part.reduce((sum, value) => sum + value, 0) / part.length;
  });
}

/** Some round numbers in a range. */
function ticksOf(low: number, high: number): number[] {
  const rough = (high - low) / 5;
  const power = 10 ** Math.floor(Math.log10(rough));
  const distance = [1, 2, 5, 10].map((factor) => factor * power).find((each) => each >= rough) ?? rough;
  const first = Math.ceil(low / distance);
  return Array.from({ length: Math.floor(high / distance) - first + 1 }, (_, index) =>
    Number(((first + index) * distance).toFixed(6)),
  );
}
