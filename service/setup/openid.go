package setup

import (
	"fmt"
	"strings"

	"fairlane/service/config"
	"fairlane/service/openid"
)

// openID returns the OpenID provider of the configuration, nil when there is none.
func openID(c *config.Config, callbackPath string) (*openid.Provider, error) {
	if c.OIDC.Issuer == "" {
		return nil, nil //nolint:nilnil // no provider is configured
	}
	roles, err := openid.ParseMapping(c.OIDC.Roles)
	if err != nil {
		return nil, fmt.Errorf("oidc.roles: %w", err)
	}
	key, err := config.Secret(c.OIDC.ClientSecretFile)
	if err != nil {
		return nil, fmt.Errorf("oidc.client_secret_file: %w", err)
	}
	p, err := openid.New(openid.Options{
		Issuer: c.OIDC.Issuer, ClientID: c.OIDC.ClientID, ClientSecret: key, Name: c.OIDC.Name,
		RedirectURL: strings.TrimRight(c.PublicURL, "/") + callbackPath,
		NameClaim:   c.OIDC.NameClaim, RolesClaim: c.OIDC.RolesClaim, Roles: roles, Audience: c.OIDC.Audience,
	})
	if err != nil {
		return nil, fmt.Errorf("oidc: %w", err)
	}
	return p, nil
}
