/** A style sheet as a text, for parts that are loaded on demand. */
declare module '*.css' {
  const text: string;
  export default text;
}
