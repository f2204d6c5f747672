package identity

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"fmt"
	"strings"
	"unicode/utf8"

	"golang.org/x/crypto/argon2"

	"fairlane/internal/phrase"
	"fairlane/service/control"
)

// Bounds of a password in bytes. There are no composition rules, because length matters most (NIST SP 800-63B, 5.1.1.2).
const (
	MinPassword = 12
	MaxPassword = 256
)

// passwordCost is the cost of argon2id (RFC 9106); the stored text carries it.
type passwordCost struct {
	memory  uint32 // KiB
	passes  uint32
	threads uint8
}

// presentCost returns the cost of new hashes: 19 MiB and two passes, about 30 ms of one core. A hash with a lower cost is
// renewed when its owner signs in.
func presentCost() passwordCost { return passwordCost{memory: 19 * 1024, passes: 2, threads: 1} }

const (
	saltLength = 16
	hashLength = 32
	// maxMemory and maxPasses bound the cost that a stored, possibly damaged, text can cause.
	maxMemory = 1 << 20 // KiB
	maxPasses = 64
)

// hashPassword returns a password's argon2id hash in PHC text.
func hashPassword(password string, c passwordCost) string {
	var salt [saltLength]byte
	_, _ = rand.Read(salt[:]) // never fails: crypto/rand ends the process instead
	return c.text(salt[:], argon2.IDKey([]byte(password), salt[:], c.passes, c.memory, c.threads, hashLength))
}

// text returns the stored form of a hash.
func (c passwordCost) text(salt, key []byte) string {
	return fmt.Sprintf("$argon2id$v=%d$m=%d,t=%d,p=%d$%s$%s", argon2.Version, c.memory, c.passes, c.threads,
		base64.RawStdEncoding.EncodeToString(salt), base64.RawStdEncoding.EncodeToString(key))
}

// parseHash parses the output of hashPassword.
func parseHash(text string) (c passwordCost, salt, key []byte, err error) {
	parts := strings.Split(text, "$")
	if len(parts) != 6 || parts[0] != "" || parts[1] != "argon2id" || parts[2] != fmt.Sprintf("v=%d", argon2.Version) {
		return c, nil, nil, fmt.Errorf("stored password hash: want $argon2id$v=%d$m=,t=,p=$SALT$HASH", argon2.Version)
	}
	if n, err := fmt.Sscanf(parts[3], "m=%d,t=%d,p=%d", &c.memory, &c.passes, &c.threads); err != nil || n != 3 {
		return c, nil, nil, fmt.Errorf("stored password hash: cost %q: want m=,t=,p=", control.Clipped(parts[3]))
	}
	if c.threads == 0 || c.passes == 0 || c.passes > maxPasses || c.memory < 8*uint32(c.threads) || c.memory > maxMemory {
		return c, nil, nil, fmt.Errorf("stored password hash: cost %q is out of bounds", control.Clipped(parts[3]))
	}
	if salt, err = base64.RawStdEncoding.DecodeString(parts[4]); err == nil {
		key, err = base64.RawStdEncoding.DecodeString(parts[5])
	}
	if err != nil || len(salt) < 8 || len(key) != hashLength {
		return c, nil, nil, fmt.Errorf("stored password hash: salt or hash is damaged")
	}
	return c, salt, key, nil
}

// checkPassword reports whether a password matches the stored hash, and whether the hash must be renewed at the present
// cost.
func checkPassword(password, stored string) (ok, renew bool, err error) {
	c, salt, key, err := parseHash(stored)
	if err != nil {
		return false, false, err
	}
	got := argon2.IDKey([]byte(password), salt, c.passes, c.memory, c.threads, hashLength)
	now := presentCost()
	return subtle.ConstantTimeCompare(got, key) == 1, c.memory < now.memory || c.passes < now.passes, nil
}

// decoy returns a hash that no password matches, for names without an account or without a password: checking them must
// cost the same.
func decoy() string {
	return presentCost().text(make([]byte, saltLength), make([]byte, hashLength))
}

// checkNewPassword rejects an invalid password; pointer is its place in the request.
func checkNewPassword(pointer, password, name string) error {
	switch {
	case !utf8.ValidString(password):
		return control.Invalid(pointer, phrase.Of("problem.password-text"))
	case len(password) < MinPassword || len(password) > MaxPassword:
		return control.Invalid(pointer, phrase.Of("problem.password-length", "n", len(password), "min", MinPassword, "max", MaxPassword))
	case strings.Contains(strings.ToLower(password), name) && len(name) >= 4 && len(password) < len(name)+8:
		return control.Invalid(pointer, phrase.Of("problem.password-name"))
	}
	return nil
}

// hashers bounds how many argon2 computations run concurrently: each uses 19 MiB and a core.
type hashers chan struct{}

// do runs f when there is room, or returns the context's error.
func (h hashers) do(ctx context.Context, f func()) error {
	select {
	case h <- struct{}{}:
		defer func() { <-h }()
		f()
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
