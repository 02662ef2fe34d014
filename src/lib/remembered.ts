/** Computes something from an object that does not change once, and keeps it as long as the object. */
export function remembered<Key extends object, Value extends object>(
  find: (key: Key) => Value,
): (key: Key) => Value {
  const found = new WeakMap<Key, Value>();
  return (key) => {
    let value = found.get(key);
    if (value === undefined) found.set(key, (value = find(key)));
    return value;
  };
}
