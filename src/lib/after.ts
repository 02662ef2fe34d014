/** Goes on with a value at once, or with a promise once it is fulfilled: each promise costs a small answer some time. */
export function after<Value, Result>(
  value: Value | Promise<Value>,
  goOn: (value: Value) => Result | Promise<Result>,
): Result | Promise<Result> {
  return value instanceof Promise ? value.then(goOn) : goOn(value);
}
