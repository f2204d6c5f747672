package api

import (
	"context"
	"errors"
	"slices"
	"time"

	"fairlane/api/gen"
	"fairlane/internal/phrase"

	"fairlane/api/server"
	"fairlane/service/control"
	"fairlane/service/control/identity"
	"fairlane/tenants"
	"fairlane/tenants/authz"
)

func (s *Server) GetMe(ctx context.Context, _ server.GetMeRequestObject) (server.GetMeResponseObject, error) {
	p, _ := control.PrincipalFrom(ctx)
	out := server.GetMe200JSONResponse{
		Kind: gen.MeKind(p.Kind), Name: p.Name, Token: optional(p.Token), Scopes: scopesOut(p.Scopes), Roles: mapped(p.Grants, grantOut),
	}
	switch a, err := s.control.Me(ctx); {
	case err == nil:
		has := a.Password != ""
		out.DisplayName, out.HasPassword = optional(a.DisplayName), &has
	case !errors.Is(err, control.ErrNotFound):
		return nil, err
	}
	ses, ok, err := s.control.Session(ctx)
	if err != nil {
		return nil, err
	}
	if ok {
		out.Session = new(sessionOut(ses))
	}
	out.Permissions, err = s.permissions(p)
	return out, err
}

func (s *Server) ExtendSession(ctx context.Context, _ server.ExtendSessionRequestObject) (server.ExtendSessionResponseObject, error) {
	ses, err := s.control.ExtendSession(ctx)
	if err != nil {
		return nil, err
	}
	return server.ExtendSession200JSONResponse(sessionOut(ses)), nil
}

func sessionOut(ses control.Session) gen.Session {
	return gen.Session{ExpiresAt: ses.ExpiresAt, IdleExpiresAt: ses.IdleExpiresAt()}
}

// permissions lists a principal's rights in the domains of its roles.
func (s *Server) permissions(p control.Principal) ([]gen.Permission, error) {
	rights, err := s.rights.Rights(p.Grants)
	if err != nil {
		return nil, err
	}
	var domains []tenants.Domain
	for _, g := range p.Grants {
		if !slices.Contains(domains, g.Domain) {
			domains = append(domains, g.Domain)
		}
	}
	out := []gen.Permission{}
	for _, d := range domains {
		for _, o := range authz.Objects() {
			var actions []gen.PermissionActions
			for _, a := range authz.Actions() {
				may, err := rights.Can(d, o.Object, a)
				if err != nil {
					return nil, err
				}
				if may && p.InScope(string(o.Object), string(a)) {
					actions = append(actions, gen.PermissionActions(a))
				}
			}
			if actions != nil {
				out = append(out, gen.Permission{Domain: d.String(), Object: string(o.Object), Actions: actions})
			}
		}
	}
	return out, nil
}

func (s *Server) ListRoles(context.Context, server.ListRolesRequestObject) (server.ListRolesResponseObject, error) {
	about := map[authz.Object]string{}
	for _, o := range authz.Objects() {
		about[o.Object] = o.About
	}
	return server.ListRoles200JSONResponse{Items: mapped(tenants.Roles(), func(r tenants.Role) gen.RoleInfo {
		return gen.RoleInfo{Role: gen.Role(r), Wide: r.Wide(), Rights: mapped(authz.Table(r), func(x authz.Right) gen.RoleRight {
			return gen.RoleRight{Object: string(x.Object), About: about[x.Object], Actions: mapped(x.Actions, func(a authz.Action) gen.RoleRightActions { return gen.RoleRightActions(a) })}
		})}
	})}, nil
}

// mine returns the caller's account. The bootstrap token has none and creates no tokens.
func (s *Server) mine(ctx context.Context) (control.AccountRef, error) {
	a, err := s.control.Me(ctx)
	if errors.Is(err, control.ErrNotFound) {
		return control.AccountRef{}, &problemError{code: "no-account", said: phrase.Of("problem.no-account")}
	}
	return a.Ref(), err
}

func (s *Server) ListMyTokens(ctx context.Context, _ server.ListMyTokensRequestObject) (server.ListMyTokensResponseObject, error) {
	ref, err := s.mine(ctx)
	if err != nil {
		return nil, err
	}
	list, err := s.control.ListTokens(ctx, ref)
	return server.ListMyTokens200JSONResponse{Items: mapped(list, tokenOut)}, err
}

func (s *Server) CreateMyToken(ctx context.Context, r server.CreateMyTokenRequestObject) (server.CreateMyTokenResponseObject, error) {
	ref, err := s.mine(ctx)
	if err != nil {
		return nil, err
	}
	out, err := s.newToken(ctx, ref, *r.Body)
	return server.CreateMyToken201JSONResponse(out), err
}

func (s *Server) DeleteMyToken(ctx context.Context, r server.DeleteMyTokenRequestObject) (server.DeleteMyTokenResponseObject, error) {
	ref, err := s.mine(ctx)
	if err != nil {
		return nil, err
	}
	return server.DeleteMyToken204Response{}, s.control.DeleteToken(ctx, ref, r.Token)
}

// newToken creates a token of an account.
func (s *Server) newToken(ctx context.Context, ref control.AccountRef, body gen.TokenCreate) (gen.NewToken, error) {
	in := identity.TokenInput{Name: body.Name, Life: time.Duration(deref(body.ExpiresInS)) * time.Second}
	for i, text := range body.Scopes {
		sc, err := control.ParseScope(text)
		if err != nil {
			return gen.NewToken{}, control.InvalidFrom(pointerAt("/scopes", i), err)
		}
		in.Scopes = append(in.Scopes, sc)
	}
	text, t, err := s.control.CreateToken(ctx, ref, in)
	if err != nil {
		return gen.NewToken{}, err
	}
	return gen.NewToken{Token: tokenOut(t), Secret: text}, nil
}

func tokenOut(t control.Token) gen.Token {
	return gen.Token{Name: t.Name, Scopes: scopesOut(t.Scopes), CreatedAt: t.CreatedAt, ExpiresAt: instant(t.ExpiresAt), UsedAt: instant(t.UsedAt)}
}

func scopesOut(list []control.Scope) []gen.Scope {
	var out []gen.Scope
	for _, sc := range list {
		out = append(out, sc.String())
	}
	return out
}

func grantOut(g tenants.Grant) gen.Grant {
	return gen.Grant{Role: gen.Role(g.Role), Fabric: optional(g.Domain.Fabric), Tenant: optional(g.Domain.Tenant)}
}
