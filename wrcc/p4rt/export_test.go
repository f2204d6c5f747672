package p4rt

// CertificateHint is certificateHint, for tests.
var CertificateHint = certificateHint
