/** Drawings of the roles of energy, and of devices without one: 24 by 24, to be drawn with lines. */
import type { Role } from './energy.ts';

export const ROLE_ICONS: Readonly<Record<Role, string>> = {
  pv: 'M12 7.5a4.5 4.5 0 1 0 0 9 4.5 4.5 0 0 0 0-9zM12 2v2.5M12 19.5V22M2 12h2.5M19.5 12H22M5 5l1.7 1.7M17.3 17.3 19 19M5 19l1.7-1.7M17.3 6.700 19 5',
  generator: 'M13 2 5 14h6l-1 8 9-13h-6.500z',
  battery: 'M7 6h10v16H7zM10 3h4v3h-4zM10 12h4M12 10v4',
  grid: 'M12 2 6 22M12 2l6 20M8.500 9h7M5 9h14M7.500 15h9M4 6.500h16',
  load: 'M3 11 12 3l9 8M6 9v12h12V9M10 21v-6h4v6',
  electrolyser: 'M12 3c4 5 6 7.500 6 11a6 6 0 0 1-12 0c0-3.500 2-6 6-11z',
  ev_charger: 'M4 17v-5l2.500-6h11L20 12v5zM4 12h16M7.500 20v-3M16.500 20v-3',
  heat_pump:
    'M3 5h18v14H3zM9 8.500a3.500 3.500 0 1 0 0 7 3.500 3.500 0 0 0 0-7zM9 10v4M7 12h4M16 9h2.500M16 12h2.500M16 15h2.500',
};

/** A device of no role. */
export const DEVICE_ICON = 'M4 7l8-4 8 4v10l-8 4-8-4zM4 7l8 4 8-4M12 11v10';
