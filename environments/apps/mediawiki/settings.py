"""What our MediaWiki is told: the file LocalSettings.php that it reads, which lies beside its database."""

DATABASE, CACHE = "wiki.sqlite", "wikicache.sqlite"
NAME = "Glasshouse"
LOCAL_SETTINGS = rf"""<?php
$wgSitename = '{NAME}';
$wgServer = getenv('WIKI_ADDRESS') ?: 'http://127.0.0.1';
$wgScriptPath = '';
$wgArticlePath = '/index.php/$1';
$wgLanguageCode = 'en';
$wgLocaltimezone = 'UTC';
$wgDBtype = 'sqlite';
$wgDBname = 'wiki';
$wgSQLiteDataDir = __DIR__;
$wgCacheDirectory = __DIR__ . '/cache';
$wgLocalisationCacheConf['store'] = 'array';
$wgLocalisationCacheConf['manualRecache'] = true;
$wgMainCacheType = $wgSessionCacheType = $wgMessageCacheType = $wgParserCacheType = CACHE_DB;
$database = [ 'type' => 'sqlite', 'tablePrefix' => '', 'dbDirectory' => __DIR__ ];
$database['variables'] = [ 'synchronous' => 'OFF' ]; // nobody needs it after a power cut
$wgDBservers = [ $database + [ 'dbname' => 'wiki', 'load' => 1, 'flags' => DBO_DEFAULT ] ];
$cache = $database + [ 'dbname' => 'wikicache', 'trxMode' => 'IMMEDIATE', 'flags' => 0 ];
$wgObjectCaches[CACHE_DB] = [ 'class' => SqlBagOStuff::class, 'loggroup' => 'SQLBagOStuff', 'server' => $cache ];
$wgSecretKey = str_repeat('0', 64);
$wgUpgradeKey = false;
$wgAuthenticationTokenVersion = null; // the token of a user is the cookie
$wgJobRunRate = 1;
$wgEnableEmail = false;
$wgEnableUploads = false;
// The notice after an edit brings down the accessibility tree of Chromium 156, and the page with it.
$wgHooks['WebResponseSetCookie'][] = static fn ( $name ) => !str_starts_with( $name, 'PostEdit' );
$wgAllowUserJs = $wgAllowUserCss = false;
$wgUseInstantCommons = false;
$wgPingback = false;
$wgRateLimits = [];
$wgLogos = [ '1x' => '/resources/assets/mediawiki.png' ];
$wgFooterIcons = [];
$wgDefaultUserOptions = [ 'watchdefault' => 0, 'watchcreations' => 0, 'watchmoves' => 0 ] + $wgDefaultUserOptions;
$wgDefaultSkin = 'vector';
wfLoadSkin('Vector');
$wgGroupPermissions['*']['createaccount'] = false;
$wgGroupPermissions['*']['edit'] = false;
$wgGroupPermissions['user']['suppressredirect'] = false;
$wgGroupPermissions['user']['upload'] = false;
"""
