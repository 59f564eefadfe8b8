import com.google.gson.Gson;
import com.google.gson.reflect.TypeToken;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Objects;
import org.openapitools.client.ApiClient;
import org.openapitools.client.api.*;
import org.openapitools.client.model.*;

public final class Walk {
  private static ApiClient with(String token) {
    ApiClient client = new ApiClient();
    client.setBasePath(System.getenv("ORIGIN"));
    if (token != null) client.addDefaultHeader("Authorization", "Bearer " + token);
    return client;
  }

  private static void same(String what, Object got, Object expected) {
    if (!Objects.equals(got, expected)) throw new AssertionError(what + ": " + got + " is not " + expected);
  }

  public static void main(String[] arguments) throws Exception {
    String text = Files.readString(Path.of(System.getenv("LINE")));
    List<List<Double>> line = new Gson().fromJson(text, new TypeToken<List<List<Double>>>() {}.getType());

    EmailSignIn signIn = new EmailSignIn().email(System.getenv("EMAIL")).password(System.getenv("PASSWORD"));
    ApiClient session = with(new SignInApi(with(null)).authLogIn(signIn).getAccessToken());
    TokenInput token = new TokenInput().name("java").scope(TokenScope.WRITE);
    ApiClient script = with(new TokensApi(session).tokensMint(token).getToken());

    RoutesApi routes = new RoutesApi(script);
    RouteInput input = new RouteInput().name("java").geometry(line)
      .addWaypointsItem(new Waypoint().coord(List.of(9.5, 47.1)));
    CreatedRoute made = routes.routesCreate(input, null, null, null);
    same("created", made.getGeometry(), line);
    List<Route> list = routes.routesList(
      null, null, null, null, null, null, null, null, null, null, null, null, null, null, null, 1, null, null, null
    );
    same("listed", list.get(0).getGeometry(), line);
    String ref = made.getId().toString();
    same("patched", routes.routesUpdate(ref, new RoutePatch().name("renamed"), null, null).getGeometry(), line);
    CollectionInput collection = new CollectionInput().name("all").addRouteIdsItem(made.getId());
    CollectionsApi collections = new CollectionsApi(script);
    List<Long> collected = collections.collectionsCreate(collection, null, null).getRouteIds();
    same("collected", collected, List.of(made.getId()));
    RouteFilesApi files = new RouteFilesApi(script);
    LineString downloaded = files.filesGeojson(ref, null).getFeatures().get(0).getGeometry().getLineString();
    same("downloaded", downloaded.getCoordinates(), line);
    same("GPX", files.filesGpx(ref, null, null).contains("<gpx"), true);
    byte[] archive = Files.readAllBytes(new AccountDataApi(session).accountDataExport().toPath());
    same("exported", new String(archive, 0, 2), "PK");
    System.out.println("openapi-generator (Java): walked");
  }
}
