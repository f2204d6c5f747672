package setup

import (
	"fmt"
	"strings"

	"fairlane/api"
	"fairlane/service/config"
	"fairlane/service/openid"
)

// WithOpenID gives the API the OpenID provider of the configuration, when there is one.
func WithOpenID(o *api.Options, c *config.Config) error {
	if c.OIDC.Issuer == "" {
		return nil
	}
	roles, err := openid.ParseMapping(c.OIDC.Roles)
	if err != nil {
		return fmt.Errorf("oidc.roles: %w", err)
	}
	key, err := config.Secret(c.OIDC.ClientSecretFile)
	if err != nil {
		return fmt.Errorf("oidc.client_secret_file: %w", err)
	}
	p, err := openid.New(openid.Options{
		Issuer: c.OIDC.Issuer, ClientID: c.OIDC.ClientID, ClientSecret: key, Name: c.OIDC.Name,
		RedirectURL: strings.TrimRight(c.PublicURL, "/") + api.OIDCCallback,
		NameClaim:   c.OIDC.NameClaim, RolesClaim: c.OIDC.RolesClaim, Roles: roles, Audience: c.OIDC.Audience,
	})
	if err != nil {
		return fmt.Errorf("oidc: %w", err)
	}
	o.OIDC = p
	return nil
}
