/**
 * Optimized code is made for objects of certain shapes, and the runtime throws it away when a large collection finds no
 * object of such a shape: what handles short-lived objects would be interpreted and compiled anew after every quiet minute.
 */

/** By class. */
const kept = new Map<unknown, object>();

/** Keeps this object until the next one of its class, and with it the code that works on them. Returns the object. */
export function keepShape<Kept extends object>(object: Kept): Kept {
  kept.set(object.constructor, object);
  return object;
}
