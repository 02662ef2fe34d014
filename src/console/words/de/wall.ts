/** The display on a wall. In German. */
import type { enLater } from '../en-later.ts';

export const wall: typeof enLater.wall = {
  leave: 'Verlassen',
  dark: 'Dunkel 22–6 Uhr',
};
