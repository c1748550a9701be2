// Refuses an origin whose certificate its own stapled OCSP answer calls revoked (RFC 6066 §8, RFC 6960).
//
// libcurl can only demand an answer of every origin (CURLOPT_SSL_VERIFYSTATUS), and most have none any more. So each
// handshake asks for one here, none is needed, and one that can't be read, or that nobody entitled has signed, says
// nothing. The functions are those of the OpenSSL that libcurl has brought along, which has a stable ABI; they are
// declared here, since libcurl's development package doesn't bring OpenSSL's headers.
#include "shim.h"

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#define FUNCTIONS(EACH) \
    EACH(long, SSL_CTX_ctrl, (void *context, int command, long number, void *pointer)) \
    EACH(long, SSL_CTX_callback_ctrl, (void *context, int command, void (*callback)(void))) \
    EACH(long, SSL_ctrl, (void *ssl, int command, long number, void *pointer)) \
    EACH(void *, SSL_get_SSL_CTX, (const void *ssl)) \
    EACH(void *, SSL_CTX_get_cert_store, (const void *context)) \
    EACH(void *, SSL_get0_verified_chain, (const void *ssl)) \
    EACH(int, OPENSSL_sk_num, (const void *stack)) \
    EACH(void *, OPENSSL_sk_value, (const void *stack, int index)) \
    EACH(void *, d2i_OCSP_RESPONSE, (void **response, const unsigned char **bytes, long count)) \
    EACH(void, OCSP_RESPONSE_free, (void *response)) \
    EACH(int, OCSP_response_status, (void *response)) \
    EACH(void *, OCSP_response_get1_basic, (void *response)) \
    EACH(void, OCSP_BASICRESP_free, (void *basic)) \
    EACH(int, OCSP_basic_verify, (void *basic, void *certificates, void *store, unsigned long flags)) \
    EACH(void *, OCSP_cert_to_id, (const void *digest, const void *subject, const void *issuer)) \
    EACH(void, OCSP_CERTID_free, (void *identifier)) \
    EACH(int, OCSP_resp_find_status, (void *basic, void *identifier, int *status, int *reason, void **revoked, \
        void **from, void **until)) \
    EACH(const void *, EVP_sha1, (void)) \
    EACH(const void *, EVP_sha256, (void)) \
    EACH(int, ERR_set_mark, (void)) \
    EACH(int, ERR_pop_to_mark, (void))

static struct {
#define MEMBER(type, name, parameters) type(*name) parameters;
    FUNCTIONS(MEMBER)
} openssl;

static pthread_once_t once = PTHREAD_ONCE_INIT;
static bool is_complete;

// Another TLS of libcurl's has the same option, and hands over something else.
static void find_all(void) {
    const char *version = curl_version();
    if (version == NULL || strstr(version, "OpenSSL/") == NULL) return;
    is_complete = true;
#define FIND(type, name, parameters) \
    openssl.name = (type(*) parameters)subproxy_library_symbol(#name); \
    is_complete = is_complete && openssl.name != NULL;
    FUNCTIONS(FIND)
}

// From <openssl/ssl.h>, <openssl/tls1.h> and <openssl/ocsp.h>.
enum {
    set_status_callback = 63, set_status_type = 65, get_status_answer = 70,
    status_type_ocsp = 1, answer_is_successful = 0, certificate_is_revoked = 1
};

static bool names_as_revoked(void *basic, void *leaf, void *issuer) {
    const void *digests[] = {openssl.EVP_sha1(), openssl.EVP_sha256()};
    bool is_revoked = false;
    for (size_t i = 0; i < 2 && !is_revoked; i++) {
        void *identifier = openssl.OCSP_cert_to_id(digests[i], leaf, issuer);
        if (identifier == NULL) continue;
        int status = 0;
        is_revoked = openssl.OCSP_resp_find_status(basic, identifier, &status, NULL, NULL, NULL, NULL) == 1 &&
            status == certificate_is_revoked;
        openssl.OCSP_CERTID_free(identifier);
    }
    return is_revoked;
}

// How old the answer is doesn't matter: nothing that was revoked is good again.
static bool is_revoked(void *ssl, const unsigned char *bytes, long count) {
    void *chain = openssl.SSL_get0_verified_chain(ssl);
    int length = chain == NULL ? 0 : openssl.OPENSSL_sk_num(chain);
    if (length < 1) return false;
    void *leaf = openssl.OPENSSL_sk_value(chain, 0);
    void *issuer = openssl.OPENSSL_sk_value(chain, length > 1 ? 1 : 0);
    void *response = openssl.d2i_OCSP_RESPONSE(NULL, &bytes, count);
    if (response == NULL) return false;
    bool is = false;
    if (openssl.OCSP_response_status(response) == answer_is_successful) {
        void *basic = openssl.OCSP_response_get1_basic(response);
        void *store = openssl.SSL_CTX_get_cert_store(openssl.SSL_get_SSL_CTX(ssl));
        is = basic != NULL && names_as_revoked(basic, leaf, issuer) &&
            openssl.OCSP_basic_verify(basic, chain, store, 0) > 0;
        openssl.OCSP_BASICRESP_free(basic);
    }
    openssl.OCSP_RESPONSE_free(response);
    return is;
}

// SSL_CTX_set_tlsext_status_cb(3): called in the handshake, behind the certificate's verification; 0 ends it with the
// alert bad_certificate_status_response.
static int check_status(void *ssl, void *unused) {
    (void)unused;
    unsigned char *bytes = NULL;
    long count = openssl.SSL_ctrl(ssl, get_status_answer, 0, &bytes);
    if (bytes == NULL || count <= 0) return 1;
    // What is left in the queue of errors would be taken for the handshake's.
    openssl.ERR_set_mark();
    bool is = is_revoked(ssl, bytes, count);
    openssl.ERR_pop_to_mark();
    return is ? 0 : 1;
}

// CURLOPT_SSL_CTX_FUNCTION.
static CURLcode ask_for_status(CURL *handle, void *context, void *unused) {
    (void)handle;
    (void)unused;
    pthread_once(&once, find_all);
    if (is_complete) {
        openssl.SSL_CTX_ctrl(context, set_status_type, status_type_ocsp, NULL);
        openssl.SSL_CTX_callback_ctrl(context, set_status_callback, (void (*)(void))check_status);
    }
    return CURLE_OK;
}

CURLcode subproxy_setopt_refuse_revoked(CURL *handle) {
    return curl_easy_setopt(handle, CURLOPT_SSL_CTX_FUNCTION, ask_for_status);
}
