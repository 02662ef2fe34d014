/** `http` for scripts of devices and rules alike. */
export { exchangeHttp, type HttpAnswer, type HttpExchange } from './http-exchange.ts';
export { HTTP_LIBRARY, httpFunctions, type HttpLibraryOptions } from './http-library.ts';
