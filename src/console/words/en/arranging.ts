/** The order of devices, and their rooms. */

export const arranging = {
  title: 'Order and rooms',
  hint: 'All users see the devices in this order. A room is saved when you leave its field.',
  roomHint: 'Where it is found. The overview can show devices by room.',
  roomOf: (name: string) => `Room of ${name}`,
  up: (name: string) => `Move ${name} up`,
  down: (name: string) => `Move ${name} down`,
  placeNow: (name: string, place: number, all: number) => `${name}: place ${place} of ${all}.`,
};
