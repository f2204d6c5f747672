package identity

import "context"

// Slow computations that need no transaction are done before a shared transaction begins: while it writes, no other
// transaction does.

type preparedPasswordKey struct{}

type preparedPassword struct{ password, hash string }

// PreparePassword returns a context in which CreateUser and UpdateUser need no time for hashing the password of the named
// user. It leaves the rejection of invalid passwords to them. It queues with the sign-ins that check passwords, and fails
// only with the context.
func (s *Accounts) PreparePassword(ctx context.Context, name, password string) (context.Context, error) {
	if password == "" || checkNewPassword("/password", password, name) != nil {
		return ctx, nil //nolint:nilerr // the operations report the error
	}
	hash, err := s.hash(ctx, password)
	if err != nil {
		return ctx, err
	}
	return context.WithValue(ctx, preparedPasswordKey{}, preparedPassword{password, hash}), nil
}
