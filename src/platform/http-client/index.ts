export { HttpClient, HttpFailure, type HttpAnswer, type HttpClientOptions } from './http-client.ts';
