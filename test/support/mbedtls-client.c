/*
 * A client as small devices have it, with Mbed TLS: sends what it reads, and prints the first bytes of the answer.
 * Arguments: port, name of the server, file of authorities, and for a certificate of its own two more files. FRAGMENT
 * is the code of the largest fragment that it takes (RFC 6066 section 4).
 */
#include <mbedtls/ctr_drbg.h>
#include <mbedtls/entropy.h>
#include <mbedtls/net_sockets.h>
#include <mbedtls/ssl.h>
#include <stdio.h>
#include <stdlib.h>

static mbedtls_ssl_context ssl;

static void must(int code, const char *step) {
  char why[512];
  unsigned flags;
  if (code >= 0) return;
  fprintf(stderr, "%s: -0x%04x\n", step, -code);
  flags = mbedtls_ssl_get_verify_result(&ssl);
  if (flags != 0 && flags != 0xffffffffu && mbedtls_x509_crt_verify_info(why, sizeof why, "", flags) > 0)
    fputs(why, stderr);
  exit(1);
}

int main(int count, char **arguments) {
  static unsigned char bytes[4096];
  mbedtls_net_context net;
  mbedtls_ssl_config config;
  mbedtls_x509_crt authorities, own;
  mbedtls_pk_context key;
  mbedtls_entropy_context entropy;
  mbedtls_ctr_drbg_context random;
  const char *fragment = getenv("FRAGMENT");
  size_t length;
  int got;

  if (count < 4) return 2;
  mbedtls_net_init(&net);
  mbedtls_ssl_init(&ssl);
  mbedtls_ssl_config_init(&config);
  mbedtls_x509_crt_init(&authorities);
  mbedtls_x509_crt_init(&own);
  mbedtls_pk_init(&key);
  mbedtls_entropy_init(&entropy);
  mbedtls_ctr_drbg_init(&random);
  must(mbedtls_ctr_drbg_seed(&random, mbedtls_entropy_func, &entropy, NULL, 0), "random numbers");
  must(mbedtls_x509_crt_parse_file(&authorities, arguments[3]), "authorities");
  must(mbedtls_ssl_config_defaults(&config, MBEDTLS_SSL_IS_CLIENT, MBEDTLS_SSL_TRANSPORT_STREAM,
                                   MBEDTLS_SSL_PRESET_DEFAULT), "configuration");
  mbedtls_ssl_conf_authmode(&config, MBEDTLS_SSL_VERIFY_REQUIRED);
  mbedtls_ssl_conf_ca_chain(&config, &authorities, NULL);
  mbedtls_ssl_conf_rng(&config, mbedtls_ctr_drbg_random, &random);
  if (fragment) must(mbedtls_ssl_conf_max_frag_len(&config, (unsigned char)atoi(fragment)), "fragment");
  if (count > 5) {
    must(mbedtls_x509_crt_parse_file(&own, arguments[4]), "certificate");
#if MBEDTLS_VERSION_MAJOR >= 3
    must(mbedtls_pk_parse_keyfile(&key, arguments[5], NULL, mbedtls_ctr_drbg_random, &random), "key");
#else
    must(mbedtls_pk_parse_keyfile(&key, arguments[5], NULL), "key");
#endif
    must(mbedtls_ssl_conf_own_cert(&config, &own, &key), "certificate");
  }
  must(mbedtls_ssl_setup(&ssl, &config), "setup");
  must(mbedtls_ssl_set_hostname(&ssl, arguments[2]), "name");
  must(mbedtls_net_connect(&net, "127.0.0.1", arguments[1], MBEDTLS_NET_PROTO_TCP), "connection");
  mbedtls_ssl_set_bio(&ssl, &net, mbedtls_net_send, mbedtls_net_recv, NULL);
  must(mbedtls_ssl_handshake(&ssl), "handshake");
  length = fread(bytes, 1, sizeof bytes, stdin);
  must(mbedtls_ssl_write(&ssl, bytes, length), "write");
  got = mbedtls_ssl_read(&ssl, bytes, sizeof bytes);
  must(got, "read");
  fwrite(bytes, 1, (size_t)got, stdout);
  mbedtls_ssl_close_notify(&ssl);
  return 0;
}
