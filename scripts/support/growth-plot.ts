/** The figures of the benchmark `growth` as a picture for the documents. */
import type { Opened, Stored } from './growth-step.ts';

/** Figures and the number of devices or days that they are of. */
export type Growth = Stored & Opened & { at: number };

const PANEL = { width: 380, height: 260, left: 46, top: 40, right: 14, bottom: 74 };
const LINES = [
  { name: 'processor time a value', color: '#1f6feb', of: (step: Growth) => step.intakeUs },
  { name: 'bytes a value', color: '#2da44e', of: (step: Growth) => step.usedBytes / step.values },
  { name: 'resident memory', color: '#bf3989', of: (step: Growth) => step.largestMib },
  { name: 'opening', color: '#bc4c00', of: (step: Growth) => step.openMs },
  { name: 'a query', color: '#57606a', of: (step: Growth) => step.queryMs },
];
/** Times as much as at the first step. */
const TIMES = [0.1, 0.2, 0.5, 1, 2, 5, 10, 20];

/** Two panels, each line relative to its first step, both axes by powers; the band is a tenth up and down. */
export function growthPlot(wide: readonly Growth[], long: readonly Growth[]): string {
  const width = 2 * PANEL.width;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${PANEL.height}" font-family="sans-serif" font-size="11">`,
    `<rect width="${width}" height="${PANEL.height}" fill="#fff"/>`,
    panel(0, 'Devices, ten attributes at 1 Hz for an hour', wide),
    panel(PANEL.width, 'Days, series at 1 Hz', long),
    ...LINES.map(
      ({ name, color }, index) =>
        `<rect x="${20 + index * 148}" y="238" width="12" height="3" fill="${color}"/>` +
        `<text x="${36 + index * 148}" y="243" fill="#333">${name}</text>`,
    ),
    '</svg>',
    '',
  ].join('\n');
}

function panel(offset: number, title: string, steps: readonly Growth[]): string {
  const [first, last] = [steps[0], steps.at(-1)];
  if (!first || !last) return '';
  const { width, height, left, top, right, bottom } = PANEL;
  const span = Math.log(last.at / first.at) || 1;
  const x = (at: number): number => offset + left + (Math.log(at / first.at) / span) * (width - left - right);
  const [least, most] = [TIMES[0] ?? 1, TIMES.at(-1) ?? 1];
  const y = (times: number): number =>
    height -
    bottom -
    (Math.log(Math.min(most, Math.max(least, times)) / least) / Math.log(most / least)) *
      (height - top - bottom);
  const round = (value: number): string => value.toFixed(1);
  const band = `<rect x="${x(first.at)}" y="${round(y(1.1))}" width="${width - left - right}" height="${round(y(0.9) - y(1.1))}" fill="#ddf4ff"/>`;
  const scale = TIMES.map(
    (times) =>
      `<line x1="${x(first.at)}" x2="${round(x(last.at))}" y1="${round(y(times))}" y2="${round(y(times))}" stroke="#e5e5e5"/>` +
      `<text x="${offset + left - 6}" y="${round(y(times) + 4)}" text-anchor="end" fill="#555">${times}×</text>`,
  );
  const marks = steps.map(
    ({ at }) =>
      `<text x="${round(x(at))}" y="${height - bottom + 16}" text-anchor="middle" fill="#555">${at}</text>`,
  );
  const lines = LINES.map(({ color, of }) => {
    const points = steps.map((step) => `${round(x(step.at))},${round(y(of(step) / of(first)))}`);
    return `<polyline points="${points.join(' ')}" fill="none" stroke="${color}" stroke-width="2"/>`;
  });
  const heading = `<text x="${offset + left}" y="24" font-size="13" fill="#111">${title}</text>`;
  return [heading, band, ...scale, ...marks, ...lines].join('\n');
}
