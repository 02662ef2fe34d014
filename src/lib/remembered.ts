/** What follows from an object that does not change: found once, and kept as long as the object is. */
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
