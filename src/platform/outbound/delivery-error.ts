/** Something did not reach a server outside; the message is a sentence that holds of the server's answer its status and a short sentence. */
export class DeliveryError extends Error {
  override name = 'DeliveryError';
}
