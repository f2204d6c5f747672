package identity

import "context"

// What a use case computes and does not need a transaction for is done before one that it shares with others begins:
// while a transaction writes, nobody else does.

type preparedPasswordKey struct{}

type preparedPassword struct{ password, hash string }

// PreparePassword returns a context in which CreateUser and UpdateUser need no time for hashing the password of the user
// of that name. One that they would refuse is left to them. It waits for its turn among those who compare passwords, and
// fails with the context only.
func (s *Accounts) PreparePassword(ctx context.Context, name, password string) (context.Context, error) {
	if password == "" || checkNewPassword("/password", password, name) != nil {
		return ctx, nil //nolint:nilerr // they tell what is wrong with it
	}
	hash, err := s.hash(ctx, password)
	if err != nil {
		return ctx, err
	}
	return context.WithValue(ctx, preparedPasswordKey{}, preparedPassword{password, hash}), nil
}
