package api

import (
	"context"
	"strconv"

	"fairlane/api/gen"
	"fairlane/internal/phrase"

	"fairlane/api/server"
	"fairlane/service/control"
	"fairlane/service/control/identity"
	"fairlane/tenants"
)

func (s *Server) ListUsers(ctx context.Context, r server.ListUsersRequestObject) (server.ListUsersResponseObject, error) {
	p, err := page(r.Params.Limit, r.Params.Cursor)
	if err != nil {
		return nil, err
	}
	list, next, err := s.control.ListUsers(ctx, p)
	if err != nil {
		return nil, err
	}
	return server.ListUsers200JSONResponse{Items: mapped(list, userOut), NextCursor: cursor(next)}, nil
}

func (s *Server) CreateUser(ctx context.Context, r server.CreateUserRequestObject) (server.CreateUserResponseObject, error) {
	grants, err := grantsIn(r.Body.Roles)
	if err != nil {
		return nil, err
	}
	a, err := s.control.CreateUser(ctx, identity.UserInput{
		Name: r.Body.Name, DisplayName: deref(r.Body.DisplayName), Password: deref(r.Body.Password), Grants: grants,
	})
	if err != nil {
		return nil, err
	}
	return server.CreateUser201JSONResponse{Body: userOut(a), Headers: server.CreateUser201ResponseHeaders{ETag: etag(a.Version)}}, nil
}

func (s *Server) GetUser(ctx context.Context, r server.GetUserRequestObject) (server.GetUserResponseObject, error) {
	a, err := s.control.User(ctx, r.User)
	if err != nil {
		return nil, err
	}
	return server.GetUser200JSONResponse{Body: userOut(a), Headers: server.GetUser200ResponseHeaders{ETag: etag(a.Version)}}, nil
}

func (s *Server) UpdateUser(ctx context.Context, r server.UpdateUserRequestObject) (server.UpdateUserResponseObject, error) {
	v, err := rowVersion(r.Params.IfMatch)
	if err != nil {
		return nil, err
	}
	grants, err := grantsIn(r.Body.Roles)
	if err != nil {
		return nil, err
	}
	a, err := s.control.UpdateUser(ctx, v, identity.UserInput{
		Name: r.User, DisplayName: deref(r.Body.DisplayName), Password: deref(r.Body.Password), Disabled: deref(r.Body.Disabled), Grants: grants,
	})
	if err != nil {
		return nil, err
	}
	return server.UpdateUser200JSONResponse{Body: userOut(a), Headers: server.UpdateUser200ResponseHeaders{ETag: etag(a.Version)}}, nil
}

func (s *Server) DeleteUser(ctx context.Context, r server.DeleteUserRequestObject) (server.DeleteUserResponseObject, error) {
	v, err := rowVersion(r.Params.IfMatch)
	if err != nil {
		return nil, err
	}
	return server.DeleteUser204Response{}, s.control.DeleteUser(ctx, r.User, v)
}

// grantsIn converts roles; it can still reject a domain that does not fit its role.
func grantsIn(list []gen.Grant) ([]tenants.Grant, error) {
	out := make([]tenants.Grant, len(list))
	for i, g := range list {
		out[i] = tenants.Grant{Role: tenants.Role(g.Role), Domain: tenants.Domain{Fabric: deref(g.Fabric), Tenant: deref(g.Tenant)}}
		if g.Fabric == nil && g.Tenant != nil {
			return nil, control.Invalid(pointerAt("/roles", i), phrase.Of("problem.want-fabric"))
		}
		if err := out[i].Validate(); err != nil {
			return nil, control.InvalidFrom(pointerAt("/roles", i), err)
		}
	}
	return out, nil
}

// pointerAt returns the JSON pointer of a list entry.
func pointerAt(list string, i int) string { return list + "/" + strconv.Itoa(i) }

func userOut(a control.Account) gen.User {
	return gen.User{
		Name: a.Name, DisplayName: a.DisplayName, Disabled: a.Disabled, HasPassword: a.Password != "", External: a.Subject != "",
		Memberships: mapped(a.Memberships, membershipOut), Version: a.Version, CreatedAt: a.CreatedAt, UpdatedAt: a.UpdatedAt, SignedInAt: instant(a.SignedInAt),
	}
}

func membershipOut(m control.Membership) gen.Membership {
	return gen.Membership{
		Role: gen.Role(m.Role), Fabric: optional(m.Domain.Fabric), Tenant: optional(m.Domain.Tenant), Source: gen.MembershipSource(m.Source),
	}
}
