/** Calls `goOn` with a value at once, or once a promise is fulfilled: each promise would slow a small answer down. */
export function after<Value, Result>(
  value: Value | Promise<Value>,
  goOn: (value: Value) => Result | Promise<Result>,
): Result | Promise<Result> {
  return value instanceof Promise ? value.then(goOn) : goOn(value);
}
