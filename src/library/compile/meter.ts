/** The role of a meter is the installer's choice: the parameter `role` and the roles of the site that follow. */
import type { Template } from './template.ts';

const CHOICES = {
  grid: 'Grid connection',
  pv: 'Solar system, its energy counted as export',
  pv_import: 'Solar system, its energy counted as import',
  load: 'The whole consumption',
  heat_pump: 'Heat pump',
  ev_charger: 'Charger',
  battery: 'Battery, its charging counted as import',
  other: 'A single consumer, or something else',
};

/** The template with `meter` written out as a parameter and roles; any other template as it is. */
export function withMeterRoles(template: Template): Template {
  const { meter } = template;
  if (!meter) return template;
  const { power: attribute, imported, exported, power_max_w } = meter;
  const power = { power: attribute, power_max_w };
  const taking = { ...power, forward: imported };
  const both = { ...taking, reverse: exported };
  return {
    ...template,
    parameters: {
      role: { name: 'What it measures', choices: CHOICES, default: meter.default },
      ...template.parameters,
    },
    roles: [
      ...(template.roles ?? []),
      { role: 'grid', ...both, when: { role: 'grid' } },
      { role: 'pv', ...power, inverted: true, forward: exported, when: { role: 'pv' } },
      { role: 'pv', ...taking, when: { role: 'pv_import' } },
      { role: 'load', ...taking, when: { role: 'load' } },
      { role: 'heat_pump', ...taking, when: { role: 'heat_pump' } },
      { role: 'ev_charger', ...taking, when: { role: 'ev_charger' } },
      {
        role: 'battery',
        ...power,
        inverted: true,
        forward: exported,
        reverse: imported,
        when: { role: 'battery' },
      },
    ],
  };
}
