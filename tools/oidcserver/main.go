// Command oidcserver is an OpenID provider for tests: zitadel's certified library with storage in memory, three users,
// two clients and a signing key that can be rotated. It prints its issuer and serves until its standard input ends.
//
//	go run . -redirect http://127.0.0.1:8470/api/v1/sign-in/oidc/callback
//
// The users are alice (groups staff and fabric-admins), rob (group red-team) and "No Good" (a name that is invalid in
// Fairlane); each password is "secret-" and the user's id. The clients are fairlane and other, both with the secret
// "client-secret". POST /test/rotate rotates the key.
package main

import (
	"context"
	"crypto/rand"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/zitadel/oidc/v3/example/server/storage"
	"github.com/zitadel/oidc/v3/pkg/op"
)

func main() {
	redirect := flag.String("redirect", "", "where the clients may be sent back to")
	listen := flag.String("listen", "127.0.0.1:0", "address")
	flag.Parse()
	if err := run(*listen, *redirect, os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(listen, redirect string, until io.Reader, out io.Writer) error {
	l, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", listen)
	if err != nil {
		return err
	}
	issuer := "http://" + l.Addr().String() + "/"
	h, err := provider(issuer, redirect)
	if err != nil {
		return err
	}
	srv := &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second}
	done := make(chan error, 1)
	go func() { done <- srv.Serve(l) }()
	if _, err := fmt.Fprintln(out, issuer); err != nil {
		return err
	}
	if _, err := io.Copy(io.Discard, until); err != nil {
		return err
	}
	if err := srv.Close(); err != nil {
		return err
	}
	<-done
	return nil
}

// provider returns the OpenID provider with its login page and the endpoints for tests.
func provider(issuer, redirect string) (http.Handler, error) {
	s, err := newStore(storage.NewStorageWithClients(people{}, map[string]*storage.Client{
		"fairlane": storage.WebClient("fairlane", "client-secret", redirect),
		"other":    storage.WebClient("other", "client-secret", redirect),
	}))
	if err != nil {
		return nil, err
	}
	config := &op.Config{CodeMethodS256: true, AuthMethodPost: true}
	if _, err := rand.Read(config.CryptoKey[:]); err != nil {
		return nil, err
	}
	p, err := op.NewOpenIDProvider(issuer, config, s, op.WithAllowInsecure(), op.WithLogger(slog.New(slog.DiscardHandler)))
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /login/username", func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "sign in by POST with id=%q, username and password\n", r.FormValue("authRequestID"))
	})
	callback := op.AuthCallbackURL(p)
	interceptor := op.NewIssuerInterceptor(p.IssuerFromRequest)
	mux.HandleFunc("POST /login/username", interceptor.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id := r.FormValue("id")
		if err := s.CheckUsernamePassword(r.FormValue("username"), r.FormValue("password"), id); err != nil {
			http.Error(w, err.Error(), http.StatusUnauthorized)
			return
		}
		http.Redirect(w, r, callback(r.Context(), id), http.StatusFound)
	}))
	mux.HandleFunc("POST /test/rotate", func(w http.ResponseWriter, _ *http.Request) {
		if err := s.rotate(); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
		}
	})
	mux.Handle("/", p)
	return mux, nil
}
