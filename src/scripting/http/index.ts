/** `http` for scripts of devices and rules alike. */
export { exchangeHttp, failureText, type HttpAnswer, type HttpExchange } from './http-exchange.ts';
export { HTTP_LIBRARY, httpFunctions } from './http-library.ts';
