/** Something did not reach a server outside; the message is a sentence that holds nothing of the server's but its status. */
export class DeliveryError extends Error {
  override name = 'DeliveryError';
}
