/** Values of `category` in the manifest of a blueprint, and so in a device template. */
export const BLUEPRINT_CATEGORIES = [
  'hydrogen-storage',
  'electrolysers',
  'solar-generators',
  'fuel-cells',
  'water-treatment',
  'battery-systems',
  'power-meters',
  'hvac',
  'electric-vehicles',
  'control',
  'data-providers',
  'sensors',
] as const;
