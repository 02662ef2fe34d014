/** The display on a wall. */

export const wall = {
  leave: 'Leave',
  dark: 'Dark 22:00–06:00',
};
