package identity_test

import (
	"database/sql"
	"os"
	"strings"
	"testing"
	"time"

	"fairlane/service/control"
	"fairlane/service/control/controltest"
	"fairlane/service/control/identity"
)

func TestTokens(t *testing.T) {
	t.Parallel()
	r := controltest.New(t, controltest.OpenSQLite)
	ctx := t.Context()
	if tok, err := r.Service.Authenticate(ctx, controltest.Token); err != nil || tok.Name != control.BootstrapName {
		t.Errorf("the given token gives %+v, %v", tok, err)
	}
	for _, bad := range []string{"", "x", controltest.Token + "x", strings.Repeat("x", 5000)} {
		_, err := r.Service.Authenticate(ctx, bad)
		controltest.MustFail(t, "token", err, control.ErrUnauthorized)
	}
	if gen, err := r.Service.Bootstrap(ctx, ""); gen != "" || err != nil {
		t.Errorf("with a token in the store one was made: %v", err)
	}
	for _, bad := range []string{"short", strings.Repeat("x", 40) + " y"} {
		if _, err := r.Service.Bootstrap(ctx, bad); err == nil {
			t.Errorf("token %q was taken", bad)
		}
	}
	text, hash := identity.NewToken()
	other, _ := identity.NewToken()
	if text == other || len(text) < 40 {
		t.Errorf("tokens are %q and %q", text, other)
	}
	err := r.Store.Tx(ctx, func(repos control.Repos) error {
		return repos.PutToken(ctx, control.Token{Name: "ci", Hash: hash, CreatedAt: time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)})
	})
	if err != nil {
		t.Fatal(err)
	}
	if tok, err := r.Service.Authenticate(ctx, text); err != nil || tok.Name != "ci" {
		t.Errorf("token gives %+v, %v", tok, err)
	}
	raw, err := os.ReadFile(r.Path + "-wal")
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(raw), text) || strings.Contains(string(raw), controltest.Token) {
		t.Error("a token's text is in the database")
	}
}

func TestAFreshStoreGetsOneToken(t *testing.T) {
	t.Parallel()
	r := controltest.New(t, controltest.OpenSQLite)
	db, err := sql.Open("sqlite", r.Path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.ExecContext(t.Context(), "DELETE FROM tokens"); err != nil {
		t.Fatal(err)
	}
	text, err := r.Service.Bootstrap(t.Context(), "")
	if err != nil || text == "" {
		t.Fatalf("bootstrap gives %q, %v", text, err)
	}
	if tok, err := r.Service.Authenticate(t.Context(), text); err != nil || tok.Name != control.BootstrapName {
		t.Errorf("the made token gives %+v, %v", tok, err)
	}
}
