package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	api "route-planning-service/generated"
)

func main() {
	line := readLine()

	configuration := api.NewConfiguration()
	configuration.Servers = api.ServerConfigurations{{URL: os.Getenv("ORIGIN")}}
	client := api.NewAPIClient(configuration)
	with := func(token string) context.Context {
		return context.WithValue(context.Background(), api.ContextAccessToken, token)
	}

	signIn := api.NewEmailSignIn(os.Getenv("EMAIL"), os.Getenv("PASSWORD"))
	signedIn, _, err := client.SignInAPI.AuthLogIn(context.Background()).EmailSignIn(*signIn).Execute()
	must(err)
	session := with(signedIn.AccessToken)
	minted, _, err := client.TokensAPI.TokensMint(session).TokenInput(*api.NewTokenInput("go", "write")).Execute()
	must(err)
	script := with(minted.Token)

	input := api.NewRouteInput("go", []api.Waypoint{*api.NewWaypoint([]float64{9.5, 47.1})})
	input.Geometry = line
	made, _, err := client.RoutesAPI.RoutesCreate(script).RouteInput(*input).Execute()
	must(err)
	same("created", made.Geometry, line)
	listed, _, err := client.RoutesAPI.RoutesList(script).Limit(1).Execute()
	must(err)
	same("listed", listed[0].Geometry, line)
	ref := strconv.FormatInt(made.Id, 10)
	patch := api.NewRoutePatch()
	patch.SetName("renamed")
	patched, _, err := client.RoutesAPI.RoutesUpdate(script, ref).RoutePatch(*patch).Execute()
	must(err)
	same("patched", patched.Geometry, line)
	collection := api.NewCollectionInput("all")
	collection.RouteIds = []int64{made.Id}
	collected, _, err := client.CollectionsAPI.CollectionsCreate(script).CollectionInput(*collection).Execute()
	must(err)
	same("collected", collected.RouteIds, []int64{made.Id})
	geojson, _, err := client.RouteFilesAPI.FilesGeojson(script, ref).Execute()
	must(err)
	same("downloaded", geojson.Features[0].Geometry.Get().LineString.Coordinates, line)
	gpx, _, err := client.RouteFilesAPI.FilesGpx(script, ref).Execute()
	must(err)
	same("GPX", strings.Contains(gpx, "<gpx"), true)
	archive, _, err := client.AccountDataAPI.AccountDataExport(session).Execute()
	must(err)
	bytes, err := io.ReadAll(archive)
	must(err)
	same("exported", string(bytes[:2]), "PK")
	fmt.Println("openapi-generator (Go): walked")
}
