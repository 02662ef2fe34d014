/** Units as people write them, from the codes that blueprints use (docs/interface/blueprints.md#units). Pure. */

/** Values that are not written as their codes. */
const WRITTEN: Readonly<Record<string, string>> = {
  '1': '',
  Cel: '°C',
  '[degF]': '°F',
  deg: '°',
  Ohm: 'Ω',
  VAR: 'var',
  VARh: 'varh',
  By: 'B',
  bps: 'bit/s',
  '[ppm]': 'ppm',
  '[ppb]': 'ppb',
  '%LEL': '% LEL',
  '[psi]': 'psi',
  '[in_i]': 'in',
  '[ft_i]': 'ft',
  '[pH]': 'pH',
  har: 'ha',
  rpm: '1/min',
  dBA: 'dB(A)',
};
const SCALABLE = /^(?:Ki|Mi|Gi|[a-zA-Z]{1,2})(?=(?:Ohm|VARh?|By|bps)$)/;
const RAISED: Readonly<Record<string, string>> = {
  '+': '',
  '-': '⁻',
  0: '⁰',
  1: '¹',
  2: '²',
  3: '³',
  4: '⁴',
};
const PART = /^(\[[^\]]*\]|%LEL|[^0-9+-]*|1)([+-]?\d+)?$/;

/** `W/m2` → `W/m²`; what is no such code stays as it is. */
export function unitText(code: string): string {
  return code
    .replace(/\{[^{}]*\}/g, '')
    .split(/([./])/)
    .map((part) => (part === '.' ? '·' : part === '/' ? part : partText(part)))
    .join('');
}

function partText(part: string): string {
  if (WRITTEN[part] !== undefined) return WRITTEN[part];
  const [, name = part, exponent = ''] = PART.exec(part) ?? [];
  const raised = exponent.replaceAll(/[-+\d]/g, (sign) => RAISED[sign] ?? sign);
  const [prefix = ''] = SCALABLE.exec(name) ?? [];
  const atom = name.slice(prefix.length);
  // No unit begins with this letter but those of a millionth.
  return `${prefix}${WRITTEN[atom] ?? atom}`.replace(/^u(?=.)/, 'µ') + raised;
}
